package takeover

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
	"github.com/pharos-dev/pharos/receipt"
)

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

	// orphaned says that the checkout is gone, in which nobody could ask again for what
	// did not succeed: see patience.
	orphaned atomic.Bool

	// commands are asked of Run; waiting, by mu, are those that it answers in the end.
	commands chan command
	waiting  []command

	mu      sync.Mutex
	id      string
	doc     journal.Document
	version string // of what the journal has, which is doc unless that could not be written
	parts   []*part
	held    *lease.Held
	over    chan struct{} // Run has ended; nil if it does not run

	// What follows belongs to the goroutine of Run or Finish.
	recorded bool // there is a session object
	// ended ends when somebody else puts the workloads back: there is no sign of life
	// any more, which unbeat ends.
	ended  context.Context
	unbeat func()
	// returning says that all is handed back: what is on the target counts more than
	// that it is written down here.
	returning bool
	// resumed says that the session was begun by another process.
	resumed bool
	// unwritten says that the journal is older than the document.
	unwritten bool
	// holder is who had the lease last.
	holder string
	// receipt is what was live when it was planned.
	receipt receipt.ID
	// declared are the objects of the receipt, and images those of its images that
	// workloads of the session run.
	declared []Declared
	images   map[string]Original
	key      ed25519.PrivateKey
	edits    chan struct{}
	unsure   chan struct{} // whether all workloads have the agent: see overlook
	// lost ends when the lease is, whose renewal keeping ends.
	lost    context.Context
	keeping func()
	// standing says that all workloads were served: what fails then is tried until it
	// succeeds.
	standing bool
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
	// replaced is who has replaced the agent, and by what; empty while it has that.
	replaced string
	// returning says that it is handed back.
	returning bool
	// connections is what was said of them last.
	connections string
	// forwards are how its Services were last.
	forwards []ForwardStatus
	// serves is what serves its agents; nil if nothing does.
	serves *service
}

const (
	defaultTimeout = 5 * time.Minute
	journalFolder  = "journal"
	lockName       = "lock"
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
	s := &Session{Config: c, commands: make(chan command, 16), edits: make(chan struct{}, 1), unsure: make(chan struct{}, 1)}
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
