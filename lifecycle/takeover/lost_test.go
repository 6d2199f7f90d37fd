package takeover_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/takeovertest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
	"github.com/pharos-dev/pharos/lifecycle/takeover/restore"
)

// served is a shop whose api is served from a workstation, by way of a proxy.
type served struct {
	*takeovertest.Shop
	*running
	before map[string]string
	local  *takeovertest.Workstation
	proxy  *faultproxy.Proxy
}

func serve(t *testing.T, files map[string]string, change func(*takeover.Config)) *served {
	t.Helper()
	return serveFor(t, files, takeovertest.Short, change)
}

// serveFor is serve with a lease of that timing.
func serveFor(t *testing.T, files map[string]string, borrow lease.Timing, change func(*takeover.Config)) *served {
	t.Helper()
	s := &served{Shop: takeovertest.NewShop(t, devtest.Cluster(t)), local: &takeovertest.Workstation{}}
	s.before = s.Specs()
	s.Write(files)
	var err error
	if s.proxy, err = faultproxy.ForCluster(s.REST); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.proxy.Close)
	c, err := takeovertest.Config(t.Context(), s.Dir, s.Namespace, s.proxy.Config(s.REST), borrow)
	if err != nil {
		t.Fatal(err)
	}
	c.Workstation = s.local
	if change != nil {
		change(&c)
	}
	s.running = begin(t, c)
	s.until(takeover.EventServing, len(files))
	return s
}

var editAPI = map[string]string{"api/main.txt": "api 2\n"}

// cutOff has nothing of the session reach the API server until what it returns is
// called.
func (s *served) cutOff() (mend func()) {
	return s.proxy.Add(faultproxy.Rule{Do: faultproxy.Cut()}).Remove
}

// elsewhere ends the session as others do.
func (s *served) elsewhere() *restore.Restorer {
	s.t.Helper()
	leases, ok := s.Lifecycle().Lease.(*lease.Manager)
	if !ok {
		s.t.Fatal("the lease is another one")
	}
	r, err := restore.New(restore.Config{REST: s.REST, Namespace: s.Namespace, Target: s.Namespace, Lease: leases, By: "bob@desk"})
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// free waits until the lease has ended.
func (s *served) free() {
	s.t.Helper()
	l := s.Lifecycle()
	for tick := time.NewTicker(200 * time.Millisecond); ; <-tick.C {
		if now, err := l.Lease.Inspect(s.t.Context()); err != nil {
			s.t.Fatal(err)
		} else if !now.Held {
			tick.Stop()
			return
		}
	}
}

// finish hands back what the session has left.
func (s *served) finish() error {
	s.t.Helper()
	session, err := takeover.New(s.Config())
	if err != nil {
		s.t.Fatal(err)
	}
	return session.Finish(s.t.Context())
}

// Who comes back after the lease has ended, and finds the workloads put back meanwhile,
// acquires it again and diverts them anew, if nobody else has the target.
func TestComesBack(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	mend := s.cutOff()
	s.free()
	if _, err := s.elsewhere().Pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.Spec("api") != s.before["api"] {
		t.Error("the controller did not put it back")
	}
	s.until(takeover.EventLeaseLost, 1)
	if err := s.local.Permitted(t.Context(), "api"); err == nil {
		t.Error("a connection would be served without the lease")
	}
	mend()
	s.until(takeover.EventServing, 2)
	if err := s.local.Permitted(t.Context(), "api"); err != nil {
		t.Errorf("back again: %v", err)
	}
	if s.Spec("api") == s.before["api"] {
		t.Error("it is not diverted again")
	}
	if err := s.HandBack(t.Context()); err != nil {
		t.Error(err)
	}
	s.Whole(s.before)
}

// A lease cannot be renewed for ever. One that has come to its end is followed by another
// one, and the session goes on.
func TestOutlivesItsLease(t *testing.T) {
	t.Parallel()
	longest := takeovertest.Short
	longest.Max = longest.Duration + 5*time.Second
	s := serveFor(t, editAPI, longest, nil)
	s.until(takeover.EventLeaseLost, 1)
	s.until(takeover.EventServing, 2)
	if n := s.count(takeover.EventRestored); n > 0 {
		t.Errorf("it was put back %d times", n)
	}
	if err := s.HandBack(t.Context()); err != nil {
		t.Error(err)
	}
	s.Whole(s.before)
}

// Who comes back and finds the target taken by somebody else serves no more, and writes
// nothing.
func TestTakenMeanwhile(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	mend := s.cutOff()
	s.free()
	other := s.Lifecycle()
	held, err := other.Borrow(t.Context(), lifecycle.BorrowRequest{Holder: lease.NewHolder(), Purpose: "a look", For: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	s.until(takeover.EventLeaseLost, 1)
	mend()
	if err := <-s.ended; !errors.Is(err, lease.ErrHeld) {
		t.Errorf("the session ended with %v", err)
	}
	if names := s.local.Names(); len(names) > 0 {
		t.Errorf("there still run %v", names)
	}
	if err := s.finish(); !errors.Is(err, lease.ErrHeld) {
		t.Errorf("handed back while somebody else has the target: %v", err)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.finish(); err != nil {
		t.Errorf("handed back: %v", err)
	}
	s.Whole(s.before)
}

// Somebody at another machine wants the target back.
func TestForced(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	report, err := s.elsewhere().Restore(t.Context(), restore.Request{Force: true, Reason: "a release"})
	if err != nil || !report.Done {
		t.Fatalf("%+v, %v", report, err)
	}
	if err := <-s.ended; !errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "bob@desk") {
		t.Errorf("the session ended with %v", err)
	}
	if n := s.count(takeover.EventDiverted); n != 1 {
		t.Errorf("it was diverted %d times", n)
	}
	if err := s.finish(); err != nil {
		t.Errorf("handed back: %v", err)
	}
	s.Whole(s.before)
}

// A lease that is broken is noticed long before it would be renewed.
func TestBroken(t *testing.T) {
	t.Parallel()
	s := serveFor(t, editAPI, lease.Timing{Duration: time.Hour, RenewEvery: 50 * time.Minute}, nil)
	leases, ok := s.Lifecycle().Lease.(*lease.Manager)
	if !ok {
		t.Fatal("the lease is another one")
	}
	if _, err := leases.Break(t.Context(), lease.BreakRequest{User: "bob@desk", Reason: "a release"}); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-s.ended:
		if !errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "bob@desk") {
			t.Errorf("the session ended with %v", err)
		}
	case <-time.After(5 * time.Minute):
		t.Fatal("it is not noticed")
	}
	if names := s.local.Names(); len(names) > 0 {
		t.Errorf("there still run %v", names)
	}
	if err := <-begin(t, s.Config()).ended; !errors.Is(err, lease.ErrLost) || !errors.Is(err, lifecycle.ErrBlocked) || !strings.Contains(err.Error(), "kubectl pharos handback") {
		t.Errorf("gone on with: %v", err)
	}
	if err := s.finish(); err != nil {
		t.Errorf("handed back: %v", err)
	}
	s.Whole(s.before)
}

// The workloads that a controller has put back after a silence are diverted anew.
func TestSilence(t *testing.T) {
	t.Parallel()
	clock := newSleeper()
	s := serve(t, editAPI, func(c *takeover.Config) { c.Silence, c.Clock = time.Second, clock })
	for s.Spec("api") != s.before["api"] {
		if _, err := s.elsewhere().Pass(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	clock.tick() // so that the next sign of life is due
	s.until(takeover.EventServing, 2)
	if s.Spec("api") == s.before["api"] {
		t.Error("it is not diverted again")
	}
	if err := s.HandBack(t.Context()); err != nil {
		t.Error(err)
	}
	s.Whole(s.before)
}

// sleeper is a clock of a machine that can sleep, and whose long waits end when the
// test says so.
type sleeper struct {
	mu     sync.Mutex
	asleep time.Duration
	due    chan struct{}
	began  time.Time
}

func newSleeper() *sleeper { return &sleeper{due: make(chan struct{}), began: time.Now()} }

func (c *sleeper) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.asleep)
}

func (c *sleeper) Awake() time.Duration { return time.Since(c.began) }

func (c *sleeper) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	due := c.due
	c.mu.Unlock()
	if d < 30*time.Second || d > time.Minute {
		return time.After(d)
	}
	fired := make(chan time.Time, 1)
	go func() {
		select {
		case <-due:
		case <-time.After(d):
		}
		fired <- time.Now()
	}()
	return fired
}

func (c *sleeper) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.due)
	c.due = make(chan struct{})
}

func (c *sleeper) sleep(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asleep += d
}

// After a sleep the API server is asked before another connection is served.
func TestSleep(t *testing.T) {
	t.Parallel()
	clock := newSleeper()
	s := serve(t, editAPI, func(c *takeover.Config) { c.Clock = clock })
	asked := func() (n int) {
		for _, r := range s.proxy.Requests() {
			if strings.HasSuffix(r.Path, "/leases/pharos-"+s.Namespace) && r.Method == "GET" {
				n++
			}
		}
		return n
	}
	before := asked()
	if err := s.local.Permitted(t.Context(), "api"); err != nil {
		t.Error(err)
	}
	stall := s.proxy.Add(faultproxy.Rule{Method: "GET", Do: faultproxy.Stall()})
	clock.sleep(time.Hour)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := s.local.Permitted(ctx, "api"); err == nil {
		t.Error("a connection is served before it is known whose the target is")
	}
	stall.Remove()
	s.until(takeover.EventHeld, 1)
	s.until(takeover.EventServing, 2)
	if err := s.local.Permitted(t.Context(), "api"); err != nil {
		t.Error(err)
	}
	if asked() == before {
		t.Error("the API server was not asked")
	}
	if err := s.HandBack(t.Context()); err != nil {
		t.Error(err)
	}
	s.Whole(s.before)
}

// What another has taken while this machine slept is not served any more.
func TestSleptTooLong(t *testing.T) {
	t.Parallel()
	clock := newSleeper()
	s := serve(t, editAPI, func(c *takeover.Config) { c.Clock = clock })
	if _, err := s.elsewhere().Restore(t.Context(), restore.Request{Force: true, Reason: "a release"}); err != nil {
		t.Fatal(err)
	}
	clock.sleep(time.Hour)
	if err := s.local.Permitted(t.Context(), "api"); err == nil {
		t.Error("a connection is served of a target that is somebody else's")
	}
	if err := <-s.ended; !errors.Is(err, lease.ErrLost) {
		t.Errorf("the session ended with %v", err)
	}
	if err := s.finish(); err != nil {
		t.Error(err)
	}
	s.Whole(s.before)
}

// A session is not handed back on another cluster, where nothing of it is.
func TestOtherCluster(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	s.cancel()
	<-s.ended
	journalOf := func(cluster string) (was string) {
		t.Helper()
		file, err := journal.OpenFile(filepath.Join(s.Config().Folder, "journal"))
		if err != nil {
			t.Fatal(err)
		}
		doc, version, err := file.Load()
		if err != nil {
			t.Fatal(err)
		}
		was, doc.Cluster = doc.Cluster, cluster
		if _, err := file.Save(doc, version); err != nil {
			t.Fatal(err)
		}
		return was
	}
	right := journalOf("another")
	if err := s.finish(); !errors.Is(err, lifecycle.ErrBlocked) || !strings.Contains(err.Error(), "another cluster") {
		t.Errorf("handed back on another cluster: %v", err)
	}
	if err := <-begin(t, s.Config()).ended; !errors.Is(err, lifecycle.ErrBlocked) {
		t.Errorf("gone on with on another cluster: %v", err)
	}
	journalOf(right)
	if err := s.finish(); err != nil {
		t.Error(err)
	}
	s.Whole(s.before)
}

// Where the journal cannot be read it is said what helps, and nothing is written over.
func TestDamagedJournal(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	s.cancel()
	<-s.ended
	path := filepath.Join(s.Config().Folder, "journal", "journal.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, left := takeover.Left(s.Config().Folder)
	for what, err := range map[string]error{"looked at": left, "handed back": s.finish(), "gone on with": <-begin(t, s.Config()).ended} {
		if !errors.Is(err, lifecycle.ErrBlocked) || !errors.Is(err, journal.ErrDamaged) || !strings.Contains(err.Error(), "handback --force --reason") || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if report, err := s.elsewhere().Restore(t.Context(), restore.Request{Force: true, Reason: "the disk"}); err != nil || !report.Done {
		t.Errorf("%+v, %v", report, err)
	}
	if s.Spec("api") != s.before["api"] {
		t.Error("it is not as it was")
	}
}

// Everybody who asks for the hand-back gets an answer. It is done though the journal is
// gone.
func TestManyHandBacks(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	if err := os.RemoveAll(filepath.Join(s.Config().Folder, "journal")); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 60 {
		all.Go(func() {
			// The last ones may come when it has ended.
			if err := s.HandBack(t.Context()); err != nil && !errors.Is(err, takeover.ErrNoSession) && !strings.Contains(err.Error(), "journal") {
				t.Error(err)
			}
		})
	}
	all.Wait()
	<-s.ended
	s.Whole(s.before)
}

// It is told how many agents are connected when that changes, and not whenever something
// about a connection does.
func TestConnections(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	for _, connected := range []int{1, 1, 2, 2, 2, 1} {
		s.local.Connections("api", connected, 2)
	}
	if n := s.count(takeover.EventConnection); n != 3 {
		t.Errorf("it is told %d times", n)
	}
	if err := s.HandBack(t.Context()); err != nil {
		t.Error(err)
	}
	s.Whole(s.before)
}

// One of several workloads is handed back by itself.
func TestHandBackOne(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]string{"api/main.txt": "api 2\n", "mail/main.txt": "mail 2\n"}, nil)
	if err := s.HandBack(t.Context(), "deploy/nobody"); !errors.Is(err, takeover.ErrUnknownWorkload) {
		t.Errorf("what there is not: %v", err)
	}
	if err := s.HandBack(t.Context(), "mail"); err != nil {
		t.Fatal(err)
	}
	if s.Spec("mail") != s.before["mail"] || s.Spec("api") == s.before["api"] || !slices.Equal(s.local.Names(), []string{"api"}) {
		t.Errorf("there run %v", s.local.Names())
	}
	if err := s.local.Permitted(t.Context(), "api"); err != nil {
		t.Error(err)
	}
	st := s.Session.Status()
	if len(st.Workloads) != 1 || st.Workloads[0].Workload != "Deployment "+s.Namespace+"/api" {
		t.Errorf("the status is %+v", st)
	}
	if err := s.HandBack(t.Context(), "api"); err != nil {
		t.Error(err)
	}
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
	if err := s.HandBack(t.Context()); !errors.Is(err, takeover.ErrNoSession) {
		t.Errorf("of a session that has ended: %v", err)
	}
	s.Whole(s.before)
}

// A working tree that is as the receipt says again hands back by itself.
func TestHandsBackByItself(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	same := false
	s := serve(t, editAPI, func(c *takeover.Config) {
		c.Same = func(context.Context) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			was := same
			same = true
			return was, nil
		}
	})
	s.local.Changed("api") // to something else
	for asked := false; !asked; {
		mu.Lock()
		asked = same
		mu.Unlock()
	}
	s.local.Changed("api")
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
	s.Whole(s.before)
}

// What somebody else has changed meanwhile stays, and is named.
func TestKeeps(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	patch := []byte(`[{"op":"replace","path":"/spec/template/spec/containers/0/args","value":["debug"]}]`)
	if _, err := s.Client().AppsV1().Deployments(s.Namespace).Patch(t.Context(), "api", types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: "by-hand"}); err != nil {
		t.Fatal(err)
	}
	err := s.HandBack(t.Context())
	if notBack, ok := errors.AsType[*lifecycle.NotReturnedError](err); !ok || !strings.Contains(strings.Join(notBack.Wrong, "\n"), "api drifted") {
		t.Errorf("handed back: %v", err)
	}
	events := s.all()
	i := slices.IndexFunc(events, func(e takeover.Event) bool { return e.Type == takeover.EventRestored })
	if i < 0 || !slices.Equal(events[i].Kept, []string{"/args"}) {
		t.Errorf("kept are %+v", events[max(i, 0)].Kept)
	}
	if got := s.Spec("api"); !strings.Contains(got, `"debug"`) || strings.Contains(got, "pharos-agent") {
		t.Errorf("api is %s", got)
	}
	if _, err := s.Session.Pending(); !errors.Is(err, journal.ErrNone) {
		t.Errorf("the journal is left: %v", err)
	}
}

// A takeover that does not succeed leaves nothing.
func TestUndone(t *testing.T) {
	t.Parallel()
	s := takeovertest.NewShop(t, devtest.Cluster(t))
	before := s.Specs()
	s.Write(editAPI)
	c := s.Config()
	broken := errors.New("it does not compile")
	c.Workstation = &takeovertest.Workstation{Fail: broken}
	r := begin(t, c)
	if err := <-r.ended; !errors.Is(err, broken) {
		t.Errorf("it ended with %v", err)
	}
	if r.count(takeover.EventDiverted) > 0 {
		t.Error("it was diverted before its process was ready")
	}
	s.Whole(before)

	// While somebody else has the target.
	held, err := s.Lifecycle().Borrow(t.Context(), lifecycle.BorrowRequest{Holder: lease.NewHolder(), Purpose: "a look", For: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-begin(t, s.Config()).ended; !errors.Is(err, lifecycle.ErrBlocked) || !errors.Is(err, lease.ErrHeld) {
		t.Errorf("it ended with %v", err)
	}
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Whole(before)
}

// What a session has left whose checkout is lost for good is put back by the next one.
func TestLostForGood(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	s.cancel()
	if err := <-s.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	c := s.Config()
	c.Folder = t.TempDir() // another checkout
	if err := <-begin(t, c).ended; !errors.Is(err, lifecycle.ErrBlocked) || !errors.Is(err, lease.ErrHeld) || !strings.Contains(err.Error(), "handback --force --reason ") {
		t.Errorf("while its lease lasts: %v", err)
	}
	s.free()
	for {
		r := begin(t, c)
		select {
		case err := <-r.ended: // the original's pods may not be there yet
			if !errors.Is(err, lifecycle.ErrBlocked) || !strings.Contains(err.Error(), "rollout") {
				t.Fatalf("it ended with %v", err)
			}
			continue
		case <-r.served():
		}
		if err := r.HandBack(t.Context()); err != nil {
			t.Error(err)
		}
		break
	}
	for name, want := range s.before {
		if got := s.Spec(name); got != want {
			t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
		}
	}
	if err := s.finish(); err != nil {
		t.Errorf("the checkout came back: %v", err)
	}
	s.Whole(s.before)
}
