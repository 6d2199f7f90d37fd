package takeover

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/flock"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
	"github.com/pharos-dev/pharos/lifecycle/takeover/restore"
)

// ErrRunning is returned by Run and Finish while the session runs in another process
// of this machine, or in this one.
var ErrRunning = errors.New("the session of this checkout runs already")

// Pending returns the session that the journal has, which may run or not; the error
// matches journal.ErrNone if it has none.
func (s *Session) Pending() (journal.Document, error) {
	doc, _, err := s.file.Load()
	return doc, err
}

// Run takes the workloads over that the names are for (see Select), or goes on with the
// session that the journal has, whose workloads are those that it has. It serves them
// until everything is handed back: since HandBack asked for it, or by itself.
//
// If the takeover does not succeed, what was done is undone. When ctx ends Run returns,
// and leaves the session as it is: the next Run goes on with it, and Finish hands it
// back. So does a process that is killed. If the target is somebody else's by then
// nothing is served any more, and the error matches lease.ErrLost.
func (s *Session) Run(ctx context.Context, names ...string) error {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	over := make(chan struct{})
	s.mu.Lock()
	s.over = over
	s.mu.Unlock()
	defer func() {
		s.drop()
		s.mu.Lock()
		s.over = nil
		s.mu.Unlock()
		close(over)
	}()
	err = s.run(ctx, names)
	s.emit(finished(err))
	return err
}

// lock keeps every other process from running the session meanwhile.
func (s *Session) lock() (unlock func(), err error) {
	unlock, err = flock.Lock(filepath.Join(s.Folder, "lock"))
	if errors.Is(err, flock.ErrLocked) {
		err = ErrRunning
	}
	return unlock, err
}

func (s *Session) run(ctx context.Context, names []string) error {
	resumed, err := s.load()
	if err != nil {
		return err
	}
	s.emit(Event{Type: EventStarted, Resumed: resumed})
	s.sweep()
	if resumed {
		if err := s.sameCluster(ctx); err != nil {
			return err
		}
	}
	if resumed && len(s.doc.Workloads) == 0 {
		// It was killed before anything was to be written to a workload.
		if err := s.giveBack(ctx); err != nil {
			return err
		}
		resumed = false
	}
	asking, heard := s.listen(ctx)
	err = s.takeOver(asking, resumed, names)
	if heard() {
		err = errAsked
	}
	if err == nil {
		err = s.attend(ctx)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case s.doc.Session == "":
		return err // nothing was begun
	case len(s.doc.Workloads) > 0 && (errors.Is(err, lease.ErrLost) || errors.Is(err, lease.ErrHeld)):
		return err // what is there is not ours any more
	case resumed && again(err):
		return err // it goes on when the target can be reached
	case errors.Is(err, errAsked):
		err = nil
	}
	stop := s.collect()
	back := s.giveBack(ctx)
	stop()
	s.answer(back)
	return errors.Join(err, back)
}

// sameCluster refuses a session of another cluster: what is not there would be taken for
// gone.
func (s *Session) sameCluster(ctx context.Context) error {
	uid, err := s.Lifecycle.Cluster.UID(ctx)
	if err != nil {
		return lifecycle.TargetError(err)
	}
	if uid != s.doc.Cluster {
		return &lifecycle.BlockedError{Reason: fmt.Sprintf("the takeover of this checkout is of another cluster: it names %s, this one is %s", s.doc.Cluster, uid),
			Next: "Choose the cluster with --context."}
	}
	return nil
}

// drop ends what runs on this machine.
func (s *Session) drop() {
	s.giveUp()
	if err := s.stopAll(); err != nil {
		s.Log.Warn("end what runs on this machine", "err", err)
	}
	s.answer(ErrNoSession)
}

// answer tells who asked for something what became of it.
func (s *Session) answer(err error) {
	for _, c := range s.early() {
		c.done <- err
	}
	for {
		select {
		case c := <-s.commands:
			c.done <- err
		default:
			return
		}
	}
}

// later keeps what was asked until it is answered.
func (s *Session) later(c command) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, c)
}

// early takes what waited for the end of a takeover.
func (s *Session) early() []command {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := s.waiting
	s.waiting = nil
	return waiting
}

// collect keeps all that is asked while everything is handed back, until it is stopped.
func (s *Session) collect() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case c := <-s.commands:
				s.later(c)
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// listen ends a context when everything is to be handed back, until heard is called,
// which says whether it is. What is asked of one workload of several waits until all
// are taken over.
func (s *Session) listen(ctx context.Context) (_ context.Context, heard func() bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	asked := make(chan bool, 1)
	go func() {
		for {
			select {
			case c := <-s.commands:
				s.later(c)
				if !s.isAll(c) {
					continue
				}
				cancel(errAsked)
				asked <- true
			case <-ctx.Done():
				asked <- false
			}
			return
		}
	}()
	return ctx, func() bool {
		cancel(nil)
		return <-asked
	}
}

// load reads the journal.
func (s *Session) load() (there bool, err error) {
	doc, version, err := readJournal(s.file)
	switch {
	case errors.Is(err, journal.ErrNone):
		s.version = version
		return false, nil
	case err != nil:
		return false, err
	case doc.Target != s.Lifecycle.Target || doc.Namespace != s.Namespace:
		return false, &lifecycle.BlockedError{Reason: fmt.Sprintf("this checkout has taken over target %q, and one at a time can be", doc.Target),
			Next: "Hand it back first: kubectl pharos handback --target " + doc.Target}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doc, s.version, s.id = doc, version, doc.Session
	return true, nil
}

// takeOver does all that comes before the traffic of all workloads is served from here.
func (s *Session) takeOver(ctx context.Context, resumed bool, names []string) error {
	if resumed && slices.Index(journal.Steps(), s.doc.Step) >= slices.Index(journal.Steps(), journal.HandingBack) {
		return errAsked // it was handed back already when it was killed
	}
	if s.Agents == nil || s.Workstation == nil {
		return errors.New("takeover: Config.Agents and Config.Workstation are required to take over")
	}
	if !resumed {
		if err := s.plan(ctx, names); err != nil {
			return err
		}
		if err := s.publish(ctx); err != nil {
			return err
		}
	} else if err := s.remember(ctx); err != nil {
		return err
	}
	if err := s.borrow(ctx); err != nil {
		return err
	}
	return s.engage(ctx)
}

// engage diverts the workloads and serves them: what is under the lease.
func (s *Session) engage(ctx context.Context) error {
	for _, do := range []func(context.Context) error{s.replan, s.recordObject, s.try, s.startAll, s.divertAll, s.serveAll} {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// plan decides what is taken over, and writes down that there is a session.
func (s *Session) plan(ctx context.Context, names []string) error {
	if err := s.clear(ctx); err != nil {
		return err
	}
	facts, err := s.Facts(ctx)
	if err != nil {
		return err
	}
	plan := Select(facts, names...)
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

// remember finds the workloads of a session that goes on.
func (s *Session) remember(ctx context.Context) error {
	facts, err := s.Facts(ctx)
	if err != nil {
		return err
	}
	if err := s.fits(facts); err != nil {
		return err
	}
	var workloads []Workload
	for _, w := range s.doc.Workloads {
		if w.State == journal.HandedBack {
			continue
		}
		again, err := facts.again(w.Diversion)
		if err != nil {
			return err
		}
		workloads = append(workloads, again)
	}
	if err := s.prepare(facts, workloads); err != nil {
		return err
	}
	for _, p := range s.parts {
		p.agent = s.diversion(p).Agent
	}
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
	signer, err := ssh.ParsePrivateKey([]byte(s.doc.Key))
	if err != nil {
		return fmt.Errorf("read the session's key in the journal: %w", err)
	}
	base := wire.Session{ID: s.doc.Session, Key: strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey()))), Holder: s.doc.User, Since: s.doc.Began}
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
	s.signer, s.parts, s.declared, s.images = signer, parts, facts.Declared, images
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

// borrow takes the target's lease, or goes on with it.
func (s *Session) borrow(ctx context.Context) error {
	if held, err := s.resumeLease(ctx); held != nil || err != nil {
		return err
	}
	held, err := s.acquire(ctx, s.purpose(), s.covers())
	if err != nil {
		return err
	}
	return s.borrowed(ctx, held)
}

// acquire borrows the target as a new holder, whose ID is written down first. A lease
// that the session itself has had is waited for: it is held for a grace after its end.
func (s *Session) acquire(ctx context.Context, purpose string, covers []string) (*lease.Held, error) {
	before := s.doc.Holder
	if err := s.saveLocally(func(d *journal.Document) { d.Holder = lease.NewHolder() }); err != nil {
		return nil, err
	}
	if len(s.doc.Workloads) == 0 {
		if err := s.step(ctx, journal.Leased); err != nil {
			return nil, err
		}
	}
	for {
		held, err := s.Lifecycle.Borrow(ctx, lifecycle.BorrowRequest{Holder: s.doc.Holder, Purpose: purpose, Covers: covers})
		if other, ok := errors.AsType[*lease.HeldError](err); !ok || other.State.Holder != before && other.State.Holder != s.holder {
			return held, err
		}
		select {
		case <-s.Clock.After(againAfter):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// resumeLease returns the lease if the session has it still, nil if not.
func (s *Session) resumeLease(ctx context.Context) (*lease.Held, error) {
	held, err := s.Lifecycle.Lease.Resume(ctx, s.doc.Holder)
	if errors.Is(err, lease.ErrLost) {
		return nil, s.broken(err)
	}
	if err != nil {
		return nil, lifecycle.TargetError(err)
	}
	if err := held.Renew(ctx); errors.Is(err, lease.ErrLost) {
		// Its gate does not stand: it was killed before that was closed, or somebody
		// opened it.
		return nil, held.Release(ctx)
	} else if err != nil {
		return nil, lifecycle.TargetError(err)
	}
	return held, s.borrowed(ctx, held)
}

// broken returns an error that says that somebody broke the session's lease, since they
// want the target; nil for every other.
func (s *Session) broken(err error) error {
	lost, ok := errors.AsType[*lease.LostError](err)
	if !ok || lost.State.Broken == nil || lost.State.Broken.Holder != s.doc.Holder {
		return nil
	}
	return &brokenError{lost}
}

// brokenError is a lease that was lost for good.
type brokenError struct{ *lease.LostError }

func (e *brokenError) Error() string {
	return e.LostError.Error() + "\nClear up what is left of the takeover in this checkout: kubectl pharos handback"
}

// Is reports that somebody else has the target.
func (e *brokenError) Is(target error) bool { return target == lifecycle.ErrBlocked }

func (e *brokenError) Unwrap() error { return e.LostError }

func (s *Session) borrowed(ctx context.Context, held *lease.Held) error {
	s.keep(held)
	s.holder = held.Holder()
	if s.doc.Token != held.Token() {
		if err := s.saveLocally(func(d *journal.Document) { d.Token = held.Token() }); err != nil {
			return err
		}
	}
	state := held.State()
	s.emit(Event{Type: EventLeaseAcquired, Covers: state.Covers, Until: state.Expires})
	return nil
}

// covers are the Applications that own what is diverted.
func (s *Session) covers() (names []string) {
	for _, p := range s.parts {
		if app := nameOf(p.workload.Application); app != "" && !contains(names, app) {
			names = append(names, app)
		}
	}
	slices.Sort(names)
	return names
}

// purpose is for people who find the target held: a lease holds 256 bytes of it.
func (s *Session) purpose() string {
	var names []string
	for _, p := range s.parts {
		names = append(names, p.workload.Namespace+"/"+p.workload.Name)
	}
	text := "takeover of " + strings.Join(names, ", ")
	if len(text) > 256 {
		text = fmt.Sprintf("takeover of %d workloads", len(names))
	}
	return text
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
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		return "", err
	}
	return string(pem.EncodeToMemory(block)), nil
}

// again is a workload of a session that goes on.
func (f Facts) again(d divert.Diversion) (Workload, error) {
	for _, o := range f.Declared {
		if !o.isDeployment() || o.Namespace != d.Namespace || o.Name != d.Name {
			continue
		}
		found, err := uses(o, f.Record)
		if err != nil {
			return Workload{}, err
		}
		for _, u := range found {
			if u.container != d.Container {
				continue
			}
			img, there := f.image(u.image)
			if !there || img.Run == nil {
				return Workload{}, &lifecycle.BlockedError{Reason: fmt.Sprintf("%s: pharos.yaml does not say any more how image %s runs on a workstation", d.Subject, u.image),
					Next: "Put that back, or hand the workload back: kubectl pharos handback"}
			}
			w := Workload{Namespace: d.Namespace, Name: d.Name, Container: d.Container, Image: u.image, Application: o.By, Declared: o.JSON, Live: d.Original}
			w.describe(img)
			return w, nil
		}
	}
	return Workload{}, &lifecycle.BlockedError{Reason: fmt.Sprintf("%s is not what it was when it was taken over: the live receipt has no such container of an image of the catalogue", d.Subject),
		Next: "Hand it back: kubectl pharos handback"}
}
