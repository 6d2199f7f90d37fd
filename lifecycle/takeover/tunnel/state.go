package tunnel

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// State is how a Tunnel is.
type State struct {
	// Held says that new connections wait.
	Held bool
	// Pods are those with an agent, by name.
	Pods []Pod
	// Err is why it is not known which pods there are; nil if it is.
	Err error
}

// Connected is how many pods have a stream.
func (s State) Connected() int {
	n := 0
	for _, p := range s.Pods {
		if !p.Connected.IsZero() {
			n++
		}
	}
	return n
}

// Pod is how a pod with an agent is.
type Pod struct {
	Name string
	UID  types.UID
	// Connected is since when it has a stream; zero while it has none.
	Connected time.Time
	// Protocol is how the stream came about: "websocket" or "spdy".
	Protocol string
	// Draining says that the pod ends.
	Draining bool
	// Open is how many connections it has.
	Open int
	// Err is why it has no stream; nil if it has one, or none was tried.
	Err error
}

// State returns how the Tunnel is.
func (t *Tunnel) State() State {
	t.mu.Lock()
	s := State{Held: t.held, Err: t.err}
	peers := make([]*peer, 0, len(t.peers))
	for _, p := range t.peers {
		peers = append(peers, p)
	}
	t.mu.Unlock()
	for _, p := range peers {
		if pod, ok := p.pod(); ok {
			s.Pods = append(s.Pods, pod)
		}
	}
	slices.SortFunc(s.Pods, func(a, b Pod) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// change has Observed called.
func (t *Tunnel) change() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// observe tells of changes until ctx ends, the last one included.
func (t *Tunnel) observe(ctx context.Context) {
	for {
		select {
		case <-t.changed:
		case <-ctx.Done():
			select {
			case <-t.changed:
			default:
				return
			}
		}
		if t.config.Observed != nil {
			t.config.Observed(t.State())
		}
	}
}
