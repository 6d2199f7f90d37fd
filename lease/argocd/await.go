package argocd

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/pharos-dev/pharos/internal/argo"
)

const (
	// tick is how often what depends on time is judged again.
	tick = 500 * time.Millisecond
	// patience is how long the API server may not answer while Applications are
	// followed.
	patience = 30 * time.Second
)

// applications are states of Applications by name; nil of one that does not exist.
type applications map[string]*argo.Application

// learn takes a newer state. What a watch brings may be older than what a write
// answered.
func (s applications) learn(name string, a *argo.Application) {
	if known := s[name]; a != nil && known != nil && a.OlderThan(known) {
		return
	}
	s[name] = a
}

// await follows Applications, and has them judged once something is known of each
// of them, then after every change and every tick. It ends when they are judged to
// be done, with an error, or when the time is over, but not before they were
// judged once. What ctx ends is an error.
func (g *Gate) await(ctx context.Context, names []string, during time.Duration, judge func(applications) (done bool, err error)) (done bool, err error) {
	if len(names) == 0 {
		return true, nil
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	end := g.config.Clock.Now().Add(during)
	fctx, cancel := context.WithCancelCause(ctx)
	var followers sync.WaitGroup
	defer followers.Wait()
	defer cancel(nil)
	type state struct {
		name string
		app  *argo.Application
	}
	news := make(chan state)
	for _, name := range names {
		followers.Go(func() {
			err := g.client.Follow(fctx, g.config.Namespace, name, patience, func(a *argo.Application) {
				select {
				case news <- state{name, a}:
				case <-fctx.Done():
				}
			})
			if err != nil {
				cancel(fail("watch", argo.Name(g.config.Namespace, name), err))
			}
		})
	}
	now := applications{}
	for {
		select {
		case s := <-news:
			now.learn(s.name, s.app)
		case <-g.config.Clock.After(tick):
		case <-fctx.Done():
			return false, context.Cause(fctx)
		}
		if len(now) < len(names) {
			continue
		}
		if done, err := judge(now); done || err != nil {
			return done, err
		}
		if !g.config.Clock.Now().Before(end) {
			return false, nil
		}
	}
}
