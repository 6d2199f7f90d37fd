//go:build unix

package runtime_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle/supervise"
	"github.com/pharos-dev/pharos/lifecycle/takeover/runtime"
)

var ports atomic.Uint32

// freePort is a port that nobody listens on, and that the system gives to nobody who
// asks for any.
func freePort(t testing.TB) uint16 {
	t.Helper()
	for {
		port := 20000 + (uint32(os.Getpid())*131+ports.Add(1))%10000
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		must(t, l.Close())
		return uint16(port)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, root, name, content string) {
	t.Helper()
	place := filepath.Join(root, name)
	must(t, os.MkdirAll(filepath.Dir(place), 0o755))
	must(t, os.WriteFile(place+".tmp", []byte(content), 0o644))
	must(t, os.Rename(place+".tmp", place)) // as editors save
}

func patterns(t testing.TB, list ...string) catalogue.Patterns {
	t.Helper()
	p, err := catalogue.ParsePatterns(list)
	must(t, err)
	return p
}

// config is one for a program in a folder of its own.
func config(t testing.TB, root string, inputs ...string) runtime.Config {
	t.Helper()
	store, err := supervise.NewFile(filepath.Join(t.TempDir(), "store"))
	must(t, err)
	return runtime.Config{
		Spec:  runtime.Spec{Name: "web", Root: root, Inputs: patterns(t, inputs...), Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, Grace: time.Minute},
		Store: store, Temp: t.TempDir(), Environ: os.Environ(), Hold: time.Minute,
	}
}

// running is a Runtime that runs.
type running struct {
	*runtime.Local
	t      testing.TB
	events *log[runtime.Event]
	output *log[string]
	stop   func() error
	first  uint16 // port of the container
}

// start runs a Runtime until the test ends.
func start(t testing.TB, c runtime.Config) *running {
	t.Helper()
	r := &running{t: t, first: firstPort(c), events: newLog[runtime.Event](), output: newLog[string]()}
	c.Observed = func(e runtime.Event) { r.events.add(e) }
	c.Output = writer(func(p []byte) { r.output.add(string(p)) })
	local, err := runtime.New(c)
	must(t, err)
	r.Local = local
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- local.Run(ctx)
		r.events.end()
		r.output.end()
	}()
	r.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if t.Failed() {
			t.Logf("events: %+v\noutput: %q", r.events.all(), r.output.all())
		}
	})
	return r
}

// until waits for an event from one on, and returns it and the number of the next one.
func (r *running) until(from int, kind runtime.EventType) (runtime.Event, int) {
	r.t.Helper()
	e, at, ok := r.events.until(from, func(e runtime.Event) bool { return e.Type == kind })
	if !ok {
		r.t.Fatalf("Run has ended (%v) without an event %q: %+v", r.stop(), kind, r.events.all())
	}
	return e, at + 1
}

// printed waits for a line of output that contains a text.
func (r *running) printed(text string) string {
	r.t.Helper()
	line, _, ok := r.output.until(0, func(line string) bool { return strings.Contains(line, text) })
	if !ok {
		r.t.Fatalf("Run has ended (%v) without printing %q", r.stop(), text)
	}
	return line
}

// log is a list that can be waited at.
type log[T any] struct {
	mu    sync.Mutex
	list  []T
	added chan struct{}
	ended bool
}

func newLog[T any]() *log[T] { return &log[T]{added: make(chan struct{})} }

func (l *log[T]) add(v T) { l.change(func() { l.list = append(l.list, v) }) }
func (l *log[T]) end()    { l.change(func() { l.ended = true }) }

func (l *log[T]) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	close(l.added)
	l.added = make(chan struct{})
}

func (l *log[T]) all() []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}

func (l *log[T]) until(from int, is func(T) bool) (found T, at int, ok bool) {
	for {
		l.mu.Lock()
		list, added, ended := l.list, l.added, l.ended
		l.mu.Unlock()
		for i := from; i < len(list); i++ {
			if is(list[i]) {
				return list[i], i, true
			}
		}
		if from = max(from, len(list)); ended {
			return found, 0, false
		}
		<-added
	}
}

type writer func(p []byte)

func (w writer) Write(p []byte) (int, error) {
	w(bytes.Clone(p))
	return len(p), nil
}

// client makes requests through a Runtime, as the cluster does.
func client(r runtime.Runtime, port uint16) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return r.Dial(ctx, port) },
		MaxIdleConnsPerHost: 10,
	}}
}

// get returns what the program answers.
func get(t testing.TB, c *http.Client, path string) string {
	t.Helper()
	body, err := fetch(t.Context(), c, http.MethodGet, path, "")
	must(t, err)
	return body
}

func fetch(ctx context.Context, c *http.Client, method, path, body string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://web"+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	if body == "" {
		r.Body = nil
	}
	answer, err := c.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, text)
	}
	return string(text), err
}

// load makes requests without a pause until it is told to stop.
type load struct {
	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup
	count  atomic.Int64
	last   *log[string]
	mu     sync.Mutex
	failed []error
}

// newLoad starts one with several clients that keep connections, and several that
// do not.
func newLoad(t testing.TB, r runtime.Runtime, port uint16, methods ...string) *load {
	var clients []*http.Client
	for i := range 4 {
		c := client(r, port)
		c.Transport.(*http.Transport).DisableKeepAlives = i%2 == 1
		clients = append(clients, c)
	}
	return loadOf(t, clients, methods...)
}

// loadOf starts one in which each client makes one request after the other.
func loadOf(t testing.TB, clients []*http.Client, methods ...string) *load {
	l := &load{last: newLog[string]()}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	for _, c := range clients {
		// The transport makes no request again that is not certain to change nothing.
		l.done.Go(func() {
			defer c.CloseIdleConnections()
			for n := 0; l.ctx.Err() == nil; n++ {
				method := methods[n%len(methods)]
				body := ""
				if method == http.MethodPost {
					body = strings.Repeat("x", n%5000+1)
				}
				path := "/"
				if n%7 == 3 {
					path = "/slow"
				}
				text, err := fetch(l.ctx, c, method, path, body)
				if l.ctx.Err() != nil {
					return
				}
				l.count.Add(1)
				if err != nil {
					l.mu.Lock()
					l.failed = append(l.failed, fmt.Errorf("%s %s: %w", method, path, err))
					l.mu.Unlock()
					continue
				}
				if all := l.last.all(); len(all) == 0 || all[len(all)-1] != text {
					l.last.add(text)
				}
			}
		})
	}
	t.Cleanup(func() { l.end() })
	return l
}

// until waits until the program has answered with a text.
func (l *load) until(t testing.TB, from int, text string) int {
	t.Helper()
	_, at, _ := l.last.until(from, func(s string) bool { return s == text })
	return at
}

func (l *load) end() []error {
	l.cancel()
	l.done.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

func (r *running) port() uint16 { return r.first }

func firstPort(c runtime.Config) uint16 {
	if len(c.Ports) == 0 {
		return 0
	}
	return c.Ports[0].Container
}
