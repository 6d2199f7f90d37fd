package takeover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
)

// overlookEvery is how often it is looked whether the workloads that are served have the
// agent still. It is looked at once where the connections to agents change.
const overlookEvery = 10 * time.Second

// AfterReplaced is what helps with a workload that is StateReplaced, for people.
const AfterReplaced = "Hand it back: kubectl pharos handback. Then it can be taken over again: kubectl pharos takeover"

// overlook looks whether somebody else has replaced the agent in a workload, until stop is
// called: no lease keeps them from that, and what they have set stays.
func (s *Session) overlook() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-s.Clock.After(overlookEvery):
			case <-s.unsure:
			case <-ctx.Done():
				return
			}
			s.mu.Lock()
			parts := s.parts
			s.mu.Unlock()
			for _, p := range parts {
				if err := s.overlookOne(ctx, p); err != nil && ctx.Err() == nil {
					s.Log.Warn("look whether a workload has the agent still", "workload", p.workload.Subject(), "err", err)
				}
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// overlookOne tells once that the agent was replaced in a workload, and once that it is
// there again and served.
func (s *Session) overlookOne(ctx context.Context, p *part) error {
	d := s.diversion(p)
	live, err := s.writer.Read(ctx, d.Subject)
	why := ""
	switch {
	case errors.Is(err, divert.ErrGone):
		why = "it is not on the target any more"
	case err != nil:
		return err
	default:
		if why, err = replacedBy(live, d); err != nil {
			return err
		}
	}
	if why == "" {
		return s.servedAgain(ctx, p)
	}
	// Who breaks the lease, or ends the session on the target, puts the workloads back in
	// its stead: that is told where it is found out.
	if err := errors.Join(s.check(ctx), s.beatOnce(ctx)); err != nil {
		return err
	}
	if s.setReplaced(p, why) {
		s.emitOf(p, Event{Type: EventWarning, Reason: why + ". " + AfterReplaced})
	}
	return nil
}

// replacedBy says who has replaced the agent's image in a Deployment, and by what; empty
// while the container has the agent.
func replacedBy(live []byte, d divert.Diversion) (string, error) {
	is, err := divert.Restore(live, d)
	if err != nil || slices.Contains(is.Restored, "/image") {
		return "", err
	}
	if is.Outcome == divert.OutcomeGone {
		return is.Reason, nil
	}
	image, manager, err := divert.Image(live, d.Container)
	if err != nil {
		return "", err
	}
	if manager = strconv.Quote(manager); manager == `""` {
		manager = "somebody else"
	}
	did := "has put its image back"
	if slices.Contains(kept(is), "/image") || is.Outcome == divert.OutcomeReplaced {
		did = "has set its image to " + image
	}
	return fmt.Sprintf("%s %s: pods without the agent are not served from here", manager, did), nil
}

// setReplaced keeps why a workload does not have the agent any more. It says whether that
// is new, and not this session's own doing.
func (s *Session) setReplaced(p *part, why string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.returning || p.replaced == why {
		return false
	}
	p.replaced, p.serving = why, false
	return true
}

// servedAgain takes up that a workload has the agent again that somebody else had replaced,
// once all of its pods are served.
func (s *Session) servedAgain(ctx context.Context, p *part) error {
	s.mu.Lock()
	process, as := p.process, !p.serving && !p.returning
	p.replaced = ""
	s.mu.Unlock()
	if !as || process == nil {
		return nil
	}
	o, err := s.pods.look(ctx, s.diversion(p))
	if err != nil || !o.taken(process.Connected) {
		return err
	}
	s.setServing(p, true)
	s.emitOf(p, Event{Type: EventServing})
	return nil
}

// taken says that every pod has the agent, and is connected.
func (o rollout) taken(connected func(types.UID) bool) bool {
	away := func(uid types.UID) bool { return !slices.Contains(o.leaving, uid) && !connected(uid) }
	return o.complete && o.others == 0 && !slices.ContainsFunc(o.agents, away)
}
