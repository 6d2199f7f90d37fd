package harmless

import (
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// unreliable returns a configuration over a network that is slow at times and loses
// answers.
func unreliable(config *rest.Config, seed uint64) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &network{next: next, random: rand.New(rand.NewPCG(seed, 0))}
	})
	return config
}

type network struct {
	next   http.RoundTripper
	mu     sync.Mutex
	random *rand.Rand
}

// RoundTrip implements http.RoundTripper.
func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Has("watch") {
		return n.next.RoundTrip(r)
	}
	n.mu.Lock()
	slow, lost := n.random.IntN(4) == 0, n.random.IntN(40) == 0
	delay := time.Duration(n.random.Int64N(int64(40 * time.Millisecond)))
	n.mu.Unlock()
	if slow {
		select {
		case <-time.After(delay):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	resp, err := n.next.RoundTrip(r)
	if err == nil && lost {
		resp.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}
	return resp, err
}

// WrappedRoundTripper lets client-go see the transport below.
func (n *network) WrappedRoundTripper() http.RoundTripper { return n.next }
