//go:build unix

package runtime_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/pharos-dev/pharos/lifecycle/takeover/runtime"
)

// client2 is a client of HTTP/2, which has one connection for all requests.
func client2(r *running) *http.Client {
	c := client(r, 80)
	c.Transport.(*http.Transport).Protocols = protocols(false, true)
	return c
}

// The connections of HTTP/2 go from one process to the next, and no request is lost,
// though the process knows of no graceful end.
func TestHTTP2Edits(t *testing.T) {
	t.Parallel()
	r, save := serving(t, "web")
	one, two := client2(r), client2(r)
	load, at := loadOf(t, []*http.Client{one, one, one, two, two}, http.MethodGet, http.MethodPost), 0
	const edits = 10
	for i := 1; i <= edits; i++ {
		save(fmt.Sprint(i))
		_, at, _ = load.last.until(at, func(s string) bool { return strings.HasPrefix(s, fmt.Sprintf("%d of ", i)) })
	}
	failed := load.end()
	t.Logf("%d requests during %d edits", load.count.Load(), edits)
	if len(failed) > 0 {
		t.Errorf("%d of %d requests failed, the first with %v", len(failed), load.count.Load(), failed[0])
	}
}

// A request of HTTP/2 that has begun ends in its process, for which that is waited for;
// another one of the same client goes to the next process.
func TestHTTP2RequestUnderWay(t *testing.T) {
	t.Parallel()
	r, save := serving(t, "web")
	first, web := r.State().PID, client2(r)
	body, end := io.Pipe()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://web/long", body)
	must(t, err)
	answer, err := web.Do(request)
	must(t, err)
	defer answer.Body.Close()

	save("1")
	r.until(0, runtime.EventStopping)
	next := make(chan string, 1)
	go func() {
		text, err := fetch(t.Context(), client(r, 80), http.MethodGet, "/", "")
		next <- fmt.Sprint(text, err)
	}()
	_, err = io.WriteString(end, "bye")
	must(t, err)
	must(t, end.Close())
	text, err := io.ReadAll(answer.Body)
	if want := fmt.Sprintf("bye of %d", first); err != nil || string(text) != want {
		t.Errorf("it answers %q, %v, want %q", text, err, want)
	}
	if got, want := <-next, fmt.Sprintf("1 of %d<nil>", r.State().PID); got != want || r.State().PID == first {
		t.Errorf("the next one answers %q, want %q", got, want)
	}
	if got, want := get(t, web, "/"), fmt.Sprintf("1 of %d", r.State().PID); got != want {
		t.Errorf("the same client's next one answers %q, want %q", got, want)
	}
	if e, _ := r.until(0, runtime.EventStopped); e.Reason != "" {
		t.Errorf("the process had to be killed: %+v", e)
	}
}

// So do those of gRPC, of which the server speaks first, also where nothing is under way.
func TestGRPCEdits(t *testing.T) {
	t.Parallel()
	r, save := serving(t, "grpc")
	conn, err := grpc.NewClient("passthrough:///web", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return r.Dial(ctx, 80) }))
	must(t, err)
	defer conn.Close()
	check := func(when string) {
		t.Helper()
		if _, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	check("at first")
	for i, at := 1, 0; i <= 5; i++ {
		save(fmt.Sprint(i))
		var stopped atomic.Bool
		calls := make(chan struct{})
		go func() {
			defer close(calls)
			for i%2 == 1 && !stopped.Load() { // every other time nothing is under way
				check("during an edit")
			}
		}()
		_, at = r.until(at, runtime.EventStopped)
		_, at = r.until(at, runtime.EventReady)
		stopped.Store(true)
		<-calls
		check("after an edit")
	}
}

// Requests of HTTP/1 that are sent without waiting for answers get all of them, in
// order, from one process after the other.
func TestPipelinedRequests(t *testing.T) {
	t.Parallel()
	r, save := serving(t, "web")
	conn := dial(t, r)
	var stop atomic.Bool
	sent := make(chan int, 1)
	go func() {
		n := 0
		for ; !stop.Load(); n++ {
			if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"); err != nil {
				t.Errorf("request %d: %v", n, err)
				break
			}
		}
		if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Error(err)
		}
		sent <- n
	}()
	in, received := bufio.NewReader(conn), 0
	var seen []string
	for ; ; received++ {
		if received == 20 {
			save("1")
		}
		if _, err := in.Peek(1); err == io.EOF {
			break
		}
		answer, err := http.ReadResponse(in, nil)
		must(t, err)
		text, err := io.ReadAll(answer.Body)
		must(t, err)
		if !slices.Contains(seen, string(text)) {
			seen = append(seen, string(text))
		}
		if strings.HasPrefix(string(text), "1 of ") {
			stop.Store(true)
		}
	}
	if n := <-sent; n != received || len(seen) != 2 {
		t.Errorf("%d requests have %d answers, from %q", n, received, seen)
	}
}
