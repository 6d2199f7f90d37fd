package takeover

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/environment"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
	"github.com/pharos-dev/pharos/lifecycle/takeover/runtime"
	"github.com/pharos-dev/pharos/receipt"
)

// Config is what a Session needs.
type Config struct {
	// Lifecycle is the target's. Required.
	Lifecycle *lifecycle.Lifecycle
	// REST is how the target's API server is reached. Required.
	REST *rest.Config
	// Namespace is where the target's records are: its lease and its session object.
	// Required.
	Namespace string
	// Folder is where the journal is: a folder that is private to the checkout. It is
	// made if it is missing. Required.
	Folder string
	// Facts reads the facts of a plan as they are now. Required.
	Facts func(context.Context) (Facts, error)
	// Agents publishes the agents' images. Required to begin a session.
	Agents Agents
	// Workstation runs the workloads on this machine. Required to begin a session.
	Workstation Workstation

	// Silence is after how long without a sign of life of this process the target's
	// controller puts the workloads back, though the lease is held. The default is not
	// to.
	Silence time.Duration
	// Same says whether the images of the working tree are the receipt's again, and is
	// asked after edits: then the session hands back by itself. Nil never does.
	Same func(context.Context) (bool, error)
	// Timeout is how long pods may take to be replaced, and the target to be as it was
	// in the end. The default is 5 minutes.
	Timeout time.Duration
	// Events receives what happens; may be nil.
	Events Sink
	// Clock is this machine's clock. The default is the real one.
	Clock Clock
	// Log receives what is no event. The default discards it.
	Log *slog.Logger
}

// Agents publishes the images of agents. Implementations are safe for concurrent use.
type Agents interface {
	// Publish makes sure that the target's registry has the agent of a session, and
	// returns its image by digest, as the target pulls it. Doing it again does
	// nothing.
	Publish(ctx context.Context, r AgentRequest) (image string, err error)
	// Remove removes an image that Publish returned, which no pod runs any more. It is
	// no error if it is gone.
	Remove(ctx context.Context, image string) error
}

// AgentRequest is an agent to publish.
type AgentRequest struct {
	// Session is the session's public part.
	Session wire.Session
	// Image is the image that the agent takes the place of.
	Image Original
}

// Original is an image of the receipt.
type Original struct {
	// Name is that of the catalogue, Digest that of the index, and Platforms are what
	// it is built for.
	Name      string
	Digest    lifecycle.Digest
	Platforms []string
}

// Workstation runs workloads on this machine. Implementations are safe for concurrent
// use.
type Workstation interface {
	// Start starts the process of a workload, and returns when it is ready. What it
	// returns with an error has ended.
	Start(ctx context.Context, r StartRequest) (Process, error)
	// Variables returns those that the process of a workload will get, without
	// their values: those of the plan, and those that only this machine knows of.
	// Errors match lifecycle.ErrSource for what an edit mends.
	Variables(w Workload) ([]environment.Name, error)
	// Recover removes what processes have left on this machine whose session was
	// killed, and nothing of those that run.
	Recover() error
}

// StartRequest is a workload to run on this machine.
type StartRequest struct {
	Workload Workload
	// Session is the public part of the session of this workload, and Signer has its
	// key.
	Session wire.Session
	Signer  ssh.Signer
	// Permit is called before a connection is served; an error of it refuses the
	// connection. Confirm is called before a stream is: it asks the API server. Both
	// are safe for concurrent use.
	Permit, Confirm func(context.Context) error
	// Observed is told what happens to the process; Changed how many agents there are
	// when that changes, and how many of them are connected; Forwarded which Services
	// are at ports of this machine, all of them whenever that changes.
	// Warned is told what a person should know, in one line without any value.
	Observed  func(runtime.Event)
	Changed   func(connected, agents int)
	Forwarded func([]ForwardStatus)
	Warned    func(reason string)
}

// Process is a workload that runs on this machine. It is safe for concurrent use.
type Process interface {
	// Serve serves the agents that the diversion has put into the workload's pods,
	// until ctx ends.
	Serve(ctx context.Context, d divert.Diversion) error
	// Connected says whether the agent of that pod is served.
	Connected(pod types.UID) bool
	// Restart starts the process anew, also one that is parked.
	Restart(ctx context.Context) error
	// State is what it does now.
	State() runtime.State
	// Stop ends the process and all that it had, and returns when it has ended.
	Stop() error
}

// Session is a takeover of one target from one checkout. Its methods may be called by
// several goroutines at once; Run and Finish exclude each other, also between
// processes.
type Session struct {
	Config
	file   *journal.File
	store  *journal.Store
	writer *divert.Writer
	pods   *rollouts
	gate   gate

	sending sync.Mutex // Events

	writing sync.Mutex      // the session object
	object  journal.Session // as it is on the target, where recorded

	// commands are asked of Run; waiting, by mu, are those that it answers in the end.
	commands chan command
	waiting  []command

	mu      sync.Mutex
	id      string
	doc     journal.Document
	version string // of doc in the journal
	parts   []*part
	held    *lease.Held
	over    chan struct{} // Run has ended; nil if it does not run

	// What follows belongs to the goroutine of Run or Finish.
	recorded bool // there is a session object
	// ended tells why there is no sign of life any more, which unbeat ends.
	ended  <-chan error
	unbeat func()
	// returning says that all is handed back: what is on the target counts more than
	// that it is written down here.
	returning bool
	// holder is who had the lease last.
	holder string
	// receipt is what was live when it was planned.
	receipt receipt.ID
	// declared are the objects of the receipt, and images those of its images that
	// workloads of the session run.
	declared []Declared
	images   map[string]Original
	signer   ssh.Signer
	keeping  func() // ends the renewal of the lease
	lost     <-chan error
	edits    chan struct{}
}

// part is a workload of the session.
type part struct {
	workload Workload
	session  wire.Session
	agent    string
	process  Process
	// serving says that every pod is the agent's and served from here, or was when
	// that was looked at last.
	serving bool
	// connections is what was said of them last.
	connections string
	// forwards are how its Services were last.
	forwards []ForwardStatus
	// stop ends Serve, and waits for it.
	stop func()
}

const (
	defaultTimeout = 5 * time.Minute
	journalFolder  = "journal"
)

// New checks the configuration and returns a Session. It reads nothing from the
// target.
func New(c Config) (*Session, error) {
	var missing []error
	require := func(ok bool, field string) {
		if !ok {
			missing = append(missing, fmt.Errorf("takeover: Config.%s is required", field))
		}
	}
	require(c.Lifecycle != nil, "Lifecycle")
	require(c.REST != nil, "REST")
	require(c.Namespace != "", "Namespace")
	require(c.Folder != "", "Folder")
	require(c.Facts != nil, "Facts")
	if err := errors.Join(missing...); err != nil {
		return nil, err
	}
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	if c.Clock == nil {
		c.Clock = newClock()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(c.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the journal: %w", err)
	}
	s := &Session{Config: c, commands: make(chan command, 16), edits: make(chan struct{}, 1)}
	s.gate.clock = c.Clock
	var err error
	if s.file, err = journal.OpenFile(filepath.Join(c.Folder, journalFolder)); err != nil {
		return nil, err
	}
	if s.store, err = journal.NewStore(journal.StoreConfig{REST: c.REST, Namespace: c.Namespace, Target: c.Lifecycle.Target, Guard: s.check}); err != nil {
		return nil, err
	}
	if s.writer, err = divert.New(divert.Config{REST: c.REST, Guard: s.check, Log: c.Log}); err != nil {
		return nil, err
	}
	s.pods, err = newRollouts(c.REST)
	return s, err
}

// check says whether the target is ours, right before a write.
func (s *Session) check(ctx context.Context) error {
	s.mu.Lock()
	held := s.held
	s.mu.Unlock()
	if held == nil {
		return errHeld
	}
	return held.Check(ctx)
}

// diversion is what diverts a part.
func (s *Session) diversion(p *part) divert.Diversion {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.index(p); i >= 0 {
		return s.doc.Workloads[i].Diversion
	}
	return divert.Diversion{}
}

// index is the place of a part in the document.
func (s *Session) index(p *part) int {
	return slices.IndexFunc(s.doc.Workloads, func(w journal.Workload) bool {
		return w.Diversion.Namespace == p.workload.Namespace && w.Diversion.Name == p.workload.Name
	})
}

// saveLocally writes the document to the journal.
func (s *Session) saveLocally(change func(*journal.Document)) error {
	doc := s.doc
	doc.Workloads = slices.Clone(doc.Workloads)
	change(&doc)
	version, err := s.file.Save(doc, s.version)
	if err != nil && s.returning {
		s.emit(Event{Type: EventWarning, Reason: "the journal cannot be written, and the hand-back goes on without it: " + err.Error()})
		version, err = s.version, nil
	}
	if err != nil {
		return fmt.Errorf("write the journal of the takeover in %s: %w", s.Folder, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doc, s.version, s.id = doc, version, doc.Session
	return nil
}

// save writes the document to the journal and then, where there is one, to the session
// object.
func (s *Session) save(ctx context.Context, change func(*journal.Document)) error {
	if err := s.saveLocally(change); err != nil || !s.recorded {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	s.object.Document = s.doc
	next, err := s.store.Save(ctx, s.object)
	if err != nil {
		return fmt.Errorf("write the session object of target %q: %w", s.doc.Target, err)
	}
	s.object = next
	return nil
}

// haveRecorded says that the session object is there, and gives signs of life from now
// on.
func (s *Session) haveRecorded(o journal.Session) {
	s.unrecord()
	s.object, s.recorded = o, true
	s.beat()
}

func (s *Session) unrecord() {
	if s.unbeat != nil {
		s.unbeat()
	}
	s.recorded, s.ended, s.unbeat = false, nil, nil
}

// step writes down what is about to be done. One that was done before it was killed is
// done again.
func (s *Session) step(ctx context.Context, step journal.Step) error {
	steps := journal.Steps()
	if slices.Index(steps, s.doc.Step) < slices.Index(steps, step) {
		if err := s.save(ctx, func(d *journal.Document) { d.Step = step }); err != nil {
			return err
		}
	}
	s.emit(Event{Type: EventStep, Step: step})
	return nil
}

// checkEvery is how often it is asked whether the lease is still held. Renewals are
// further apart, and who breaks it wants the target soon.
const checkEvery = 5 * time.Second

// keep renews the lease from now on, and lets traffic through.
func (s *Session) keep(held *lease.Held) {
	s.unkeep()
	s.mu.Lock()
	s.held = held
	s.mu.Unlock()
	s.gate.open(held)
	ctx, cancel := context.WithCancel(context.Background())
	kept, stop := held.Keep(ctx)
	told, ended := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			var err error
			select {
			case err = <-kept:
				kept = nil // it is renewed no more
			case <-s.Clock.After(checkEvery):
				err = held.Check(ctx)
			case <-ctx.Done():
				return
			}
			if errors.Is(err, lease.ErrLost) {
				s.gate.shut(held) // whatever else is done just now
				told <- err
				return
			}
		}
	}()
	s.lost, s.keeping = told, func() {
		cancel()
		stop()
		<-ended
	}
}

func (s *Session) unkeep() {
	if s.keeping != nil {
		s.keeping()
	}
	s.keeping, s.lost = nil, nil
}
