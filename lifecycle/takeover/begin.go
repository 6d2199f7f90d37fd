package takeover

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
	"github.com/pharos-dev/pharos/lifecycle/takeover/restore"
)

// plan decides what is taken over, and writes down that there is a session.
func (s *Session) plan(ctx context.Context, names []string) error {
	if err := s.clear(ctx); err != nil {
		return err
	}
	facts, err := s.Facts(ctx)
	if err != nil {
		return err
	}
	plan := s.choose(facts, names)
	if err := plan.Err(); err != nil {
		return err
	}
	if err := s.nameAll(&plan); err != nil {
		return err
	}
	if err := s.fits(facts); err != nil {
		return err
	}
	key, err := newKey()
	if err != nil {
		return err
	}
	doc := journal.Document{Session: random(), Target: s.Lifecycle.Target, Namespace: s.Namespace, Cluster: facts.ClusterUID, Holder: lease.NewHolder(),
		User: s.Lifecycle.Actor, Began: s.Clock.Now().UTC().Truncate(time.Second), Silence: int64(s.Silence / time.Second), Workloads: []journal.Workload{}, Key: key}
	doc.Step = journal.Planned
	if err := s.saveLocally(func(d *journal.Document) { *d = doc }); err != nil {
		return err
	}
	s.emit(Event{Type: EventStep, Step: journal.Planned})
	s.receipt = facts.Live
	s.emit(Event{Type: EventPlanned, Plan: &plan})
	s.warnAll(plan.Warnings)
	return s.prepare(facts, plan.Workloads)
}

// choose is the plan of this session: where nothing would put the workloads back after
// its Silence it is in the way, since whoever asks for that relies on it.
func (s *Session) choose(facts Facts, names []string) Plan {
	plan := Select(facts, names...)
	if s.Silence <= 0 {
		return plan
	}
	plan.Silence = int64(s.Silence / time.Second)
	for _, w := range plan.Workloads {
		controller := facts.Controller.in(w.Namespace)
		why := controller.Why
		if controller.Name == "" {
			why = "only a controller does that, and " + w.Returns + " puts it back when the lease ends"
		}
		if why != "" {
			plan.Blocked = append(plan.Blocked, Block{Subject: w.Subject(), Reason: fmt.Sprintf("nothing would put it back after %s without a sign of life: %s", s.Silence, why),
				Next: "Leave --silence out: it is put back when the lease ends, 20 minutes after the last renewal at the latest."})
		}
	}
	return plan
}

// clear ends what is left of a session whose holder is gone.
func (s *Session) clear(ctx context.Context) error {
	o, err := s.store.Load(ctx)
	if errors.Is(err, journal.ErrNone) {
		return nil
	}
	if err != nil {
		return lifecycle.TargetError(err)
	}
	leases, ok := s.Lifecycle.Lease.(restore.Lease)
	if !ok {
		return s.foreign(o)
	}
	r, err := restore.New(restore.Config{REST: s.REST, Namespace: s.Namespace, Target: s.Lifecycle.Target, Lease: leases, By: s.Lifecycle.Actor, Log: s.Log})
	if err != nil {
		return err
	}
	report, err := r.Restore(ctx, restore.Request{Reason: "another takeover begins"})
	if errors.Is(err, lease.ErrHeld) {
		return errors.Join(s.foreign(o), err)
	}
	if err != nil && !errors.Is(err, journal.ErrNone) {
		return fmt.Errorf("put back what the takeover by %s has left: %w", o.Document.User, err)
	}
	s.emit(Event{Type: EventWarning, Reason: fmt.Sprintf("the takeover by %s, whose lease has ended, was put back: %s", o.Document.User, report.Reason)})
	return nil
}

// fits says whether it is known what the target declares.
func (s *Session) fits(f Facts) error {
	if f.Target != s.Lifecycle.Target || f.Record == nil {
		return fmt.Errorf("takeover: the facts are of target %q, without what it declares", f.Target)
	}
	return nil
}

// prepare makes the parts of the workloads.
func (s *Session) prepare(facts Facts, workloads []Workload) error {
	key, err := parseKey(s.doc.Key)
	if err != nil {
		return fmt.Errorf("read the session's key in the journal: %w", err)
	}
	base := wire.Session{ID: s.doc.Session, Key: wire.EncodeKey(key.Public().(ed25519.PublicKey)), Holder: s.doc.User, Since: s.doc.Began}
	var parts []*part
	for _, w := range workloads {
		public, err := sessionOf(w, facts.Declared, base)
		if err != nil {
			return err
		}
		parts = append(parts, &part{workload: w, session: public})
	}
	images := map[string]Original{}
	for _, i := range facts.Record.Images {
		images[i.Name] = Original{Name: i.Name, Digest: lifecycle.Digest(i.Digest), Platforms: i.Platforms}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key, s.parts, s.declared, s.images = key, parts, facts.Declared, images
	return nil
}

// publish has the registry have the agents, before anything is written to the target.
func (s *Session) publish(ctx context.Context) error {
	if err := s.step(ctx, journal.Published); err != nil {
		return err
	}
	for _, p := range s.parts {
		image, err := s.Agents.Publish(ctx, AgentRequest{Session: p.session, Image: s.images[p.workload.Image]})
		if err != nil {
			return fmt.Errorf("publish the agent for %s: %w", p.workload.Subject(), err)
		}
		p.agent = image
		s.emitOf(p, Event{Type: EventPublished})
	}
	return nil
}

func random() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

// newKey is a new private key in PEM.
func newKey() (string, error) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return "", err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", err
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), nil
}

func parseKey(text string) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("it is not in PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	own, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("it is no ed25519 key")
	}
	return own, nil
}
