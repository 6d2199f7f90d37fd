package workstation_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

// callers call the pods of the service from the node, one request after the other each.
type callers struct {
	t      *testing.T
	answer chan string // what each request was answered
	end    context.CancelFunc
	all    sync.WaitGroup
	// breaks is how often the streams broke. Each time, each caller may lose the request that
	// it has under way when the agent notices, and no other.
	breaks atomic.Int64
}

// waitsFor is how long callers wait at least before they are refused. That is counted from
// the workstation's last sign of life, which may have been an interval before, and the one
// that was due then may have been under way for as long.
const waitsFor = time.Duration(wire.DefaultAway) - 2*wire.KeepaliveInterval

// call has callers that want to be served from the workstation, or to wait for it.
func (k *killing) call(n *devenv.Node) *callers {
	k.t.Helper()
	ctx, cancel := context.WithCancel(k.t.Context())
	c := &callers{t: k.t, answer: make(chan string), end: cancel}
	for i := range 4 {
		client := k.caller(n, i)
		c.all.Go(func() {
			lost := int64(0) // the number of the last break that took a request
			for ctx.Err() == nil {
				begun := time.Now()
				status, answer, err := client.get(ctx)
				switch {
				case ctx.Err() != nil:
					return
				case err != nil || status != http.StatusOK || !strings.HasPrefix(answer, "v2 workstation "):
					waited, breaks := time.Since(begun), c.breaks.Load()
					if waited < waitsFor && lost == breaks {
						k.t.Errorf("after %s: %d %q, %v", waited, status, answer, err)
					} else if waited < waitsFor {
						lost = breaks
					}
					continue
				}
				select {
				case c.answer <- answer:
				case <-time.After(20 * time.Millisecond): // nobody wants to know
				case <-ctx.Done():
				}
			}
		})
	}
	k.t.Cleanup(c.stop)
	return c
}

// served waits until some requests that begin from now on have been served.
func (c *callers) served(when string) {
	c.t.Helper()
	late := time.After(patience)
	for range 40 {
		select {
		case <-c.answer:
		case <-late:
			c.t.Fatalf("callers are not served %s", when)
		}
	}
}

func (c *callers) stop() {
	c.end()
	c.all.Wait()
}

// caller calls a pod of the service from the node, over a new connection each time.
type caller struct {
	client *http.Client
	url    string
}

// caller calls the pod of that number, of those that are to stay.
func (k *killing) caller(n *devenv.Node, number int) caller {
	k.t.Helper()
	pods, err := k.Client().CoreV1().Pods(k.Namespace).List(k.t.Context(), metav1.ListOptions{LabelSelector: "app=api"})
	if err != nil {
		k.t.Fatal(err)
	}
	stay := slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil || p.Status.PodIP == "" })
	if len(stay) == 0 {
		k.t.Fatalf("no pod is to stay of %+v", pods.Items)
	}
	address := net.JoinHostPort(stay[number%len(stay)].Status.PodIP, "8080")
	return caller{url: "http://" + address + "/", client: &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, address string) (net.Conn, error) { return n.Dial(ctx, address) },
	}}}
}

func (c caller) get(ctx context.Context) (status int, answer string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url, nil)
	if err != nil {
		return 0, "", err
	}
	got, err := c.client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	return got.StatusCode, string(body), err
}
