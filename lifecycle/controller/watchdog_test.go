package controller_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/controller"
)

// script is a Watcher that tells what a test wants it to tell.
type script struct {
	passes chan func(observed func(lease.State, lease.Report, error))
	told   chan struct{}
}

func newScript() *script {
	return &script{passes: make(chan func(func(lease.State, lease.Report, error))), told: make(chan struct{})}
}

func (s *script) Watch(ctx context.Context, c lease.WatchConfig) error {
	for {
		select {
		case p := <-s.passes:
			p(c.Observed)
			s.told <- struct{}{}
		case <-ctx.Done():
			return nil
		}
	}
}

// pass tells of one, and returns when it was heard.
func (s *script) pass(t *testing.T, st lease.State, r lease.Report, err error) {
	t.Helper()
	select {
	case s.passes <- func(observed func(lease.State, lease.Report, error)) { observed(st, r, err) }:
		<-s.told
	case <-t.Context().Done():
		t.Fatal("nobody watches")
	}
}

// log is what a controller logs.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// all is what was logged.
func (l *log) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// of are the lines about a target since the last call.
func (l *log) of(target string) (lines []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if mark := " namespace=pharos target=" + target; strings.Contains(line, mark) {
			lines = append(lines, strings.TrimSpace(strings.Replace(line, mark, "", 1)))
		}
	}
	l.text.Reset()
	return lines
}

// events is a Recorder in memory.
type events struct {
	list []controller.Event
	err  error
}

func (e *events) Record(_ context.Context, event controller.Event) error {
	e.list = append(e.list, event)
	return e.err
}

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// watchedBy runs a controller that leads with a watchdog of the target devbox.
func watchedBy(t *testing.T, c controller.Config) *replica {
	t.Helper()
	cluster := devtest.Cluster(t)
	return runConfig(t, cluster.Config(), devtest.Namespace(t, cluster), c)
}

// Everything that a watchdog finds is told, and told once.
func TestWatchdogTellsWhatIsNew(t *testing.T) {
	t.Parallel()
	s, l, e := newScript(), &log{}, &events{}
	watchedBy(t, controller.Config{Log: l.logger(), Events: e, Watchdogs: []controller.Watchdog{{Namespace: "pharos", Target: "devbox", Lease: s}}})
	st := lease.State{Now: noon}
	told := func(r lease.Report, err error, want ...string) {
		t.Helper()
		s.pass(t, st, r, err)
		if got := l.of("devbox"); !slices.Equal(got, want) {
			t.Errorf("at %s it says\n%s\nwant\n%s", st.Now.Format(time.TimeOnly), strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	recorded := func(want ...string) {
		t.Helper()
		var got []string
		for _, event := range e.list {
			got = append(got, event.Reason+" "+event.Note)
			if event.Namespace != "pharos" || event.Target != "devbox" || event.Warning != (event.Reason == "NotConverged") {
				t.Errorf("the event %+v", event)
			}
		}
		if e.list = nil; !slices.Equal(got, want) {
			t.Errorf("recorded %q, want %q", got, want)
		}
	}
	api := lease.Pending{Name: "api", Reason: "it is OutOfSync"}
	web := lease.Pending{Name: "web", Reason: "its sync failed", Failed: true}

	told(lease.Report{}, nil)
	told(lease.Report{Opened: []string{"a window of default"}, Pending: []lease.Pending{api, web}, Others: []string{"a window of night"}}, nil,
		`level=INFO msg="opened what a lease had left closed" gate="a window of default"`,
		`level=INFO msg="it is not yet what is declared" application=api reason="it is OutOfSync"`,
		`level=WARN msg="it did not become what is declared" application=web reason="its sync failed"`,
		`level=INFO msg="something else keeps it from being synced" reason="a window of night"`)
	recorded("GateOpened opened what a lease had left closed: a window of default", "NotConverged it did not become what is declared: web: its sync failed")

	told(lease.Report{Pending: []lease.Pending{api, web}, Others: []string{"a window of night"}}, nil)
	st.Now = noon.Add(time.Minute)
	api.Reason = "it is Progressing"
	told(lease.Report{Pending: []lease.Pending{api}}, errors.New("no answer"), `level=WARN msg="what a lease left over could not be looked after" err="no answer"`)
	told(lease.Report{Pending: []lease.Pending{api}}, errors.New("no answer"))
	told(lease.Report{Pending: []lease.Pending{api, web}, Others: []string{"a window of night"}}, nil, `level=INFO msg="what a lease left over is looked after again"`)
	st.Now = noon.Add(5*time.Minute + time.Second)
	web.Reason = "its sync failed twice"
	told(lease.Report{Pending: []lease.Pending{api, web}}, nil,
		`level=WARN msg="it did not become what is declared" application=api reason="it is Progressing"`,
		`level=WARN msg="it did not become what is declared" application=web reason="its sync failed twice"`)
	recorded("NotConverged it did not become what is declared: api: it is Progressing")

	e.err = errors.New("events is forbidden")
	told(lease.Report{Opened: []string{"another"}, Pending: []lease.Pending{api}}, nil,
		`level=INFO msg="opened what a lease had left closed" gate=another`,
		`level=WARN msg="an Event could not be recorded" reason=GateOpened err="events is forbidden"`)
	told(lease.Report{}, nil, `level=INFO msg="it is not waited for any more" application=api`)
	told(lease.Report{Pending: []lease.Pending{web}}, nil,
		`level=WARN msg="it did not become what is declared" application=web reason="its sync failed twice"`,
		`level=WARN msg="an Event could not be recorded" reason=NotConverged err="events is forbidden"`)
}

// The metrics are those of each target, of the leader alone, and of no other
// labels than there are targets.
func TestMetricsOfWatchdogs(t *testing.T) {
	t.Parallel()
	s, other := newScript(), newScript()
	var mu sync.Mutex
	now := noon
	r := watchedBy(t, controller.Config{Now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now }, Watchdogs: []controller.Watchdog{
		{Namespace: "pharos", Target: "devbox", Lease: s}, {Namespace: "pharos", Target: "other", Lease: other}}})
	says := func(want ...string) {
		t.Helper()
		_, metrics := r.get("/metrics")
		for _, w := range want {
			if !strings.Contains(metrics, "\n"+w+"\n") {
				t.Errorf("it lacks %s", w)
			}
		}
		if t.Failed() {
			t.Log(metrics)
		}
	}
	of := func(name, labels, value string) string {
		all := append(strings.Split(labels, ","), `namespace="pharos"`, `target="devbox"`)
		slices.Sort(all)
		return "pharos_lease_" + name + "{" + strings.TrimPrefix(strings.Join(all, ","), ",") + "} " + value
	}
	// The lease of a server whose clock is wrong by hours.
	server := noon.Add(-5 * time.Hour)
	held := lease.State{Held: true, Mode: lease.ModeBorrow, Now: server, Expires: server.Add(20 * time.Minute)}
	s.pass(t, held, lease.Report{Opened: []string{"one", "two"}, Pending: []lease.Pending{{Name: "a"}, {Name: "b"}, {Name: "c", Failed: true}}}, nil)
	mu.Lock()
	now = noon.Add(30 * time.Second)
	mu.Unlock()
	says(of("held", `mode="borrow"`, "1"), of("held", `mode="deliver"`, "0"), of("left_seconds", "", "1170"),
		of("pending", "", "3"), of("not_converged_total", "", "1"), of("gates_opened_total", "", "2"),
		of("watch_failures_total", "", "0"), of("watch_success_timestamp_seconds", "", "1.7726256e+09"),
		`pharos_lease_gates_opened_total{namespace="pharos",target="other"} 0`)

	// A pass that fails is no success, and leaves what was seen last.
	s.pass(t, lease.State{}, lease.Report{}, errors.New("no answer"))
	says(of("held", `mode="borrow"`, "1"), of("left_seconds", "", "1170"), of("pending", "", "3"),
		of("watch_failures_total", "", "1"), of("watch_success_timestamp_seconds", "", "1.7726256e+09"))

	s.pass(t, lease.State{Held: true, Mode: "\n\"}", Now: server}, lease.Report{}, nil)
	says(of("held", `mode="other"`, "1"), of("held", `mode="borrow"`, "0"), of("left_seconds", "", "+Inf"),
		of("watch_success_timestamp_seconds", "", "1.77262563e+09"))
	s.pass(t, lease.State{Now: server}, lease.Report{}, nil)
	says(of("held", `mode="other"`, "0"), of("left_seconds", "", "0"), of("pending", "", "0"))

	r.stop()
	if _, metrics := r.get("/metrics"); strings.Contains(metrics, "pharos_lease_held{") || strings.Contains(metrics, "_timestamp_seconds{namespace") {
		t.Error("what leads no more still says how the lease is")
	}
	says(of("gates_opened_total", "", "2"))
}

// Events stand on the Lease, where kubectl describe finds them, and need one
// right beside that to read it.
func TestLeaseEvents(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	m, err := lease.New(lease.Config{REST: c.Config(), Namespace: ns, Target: "devbox"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Acquire(t.Context(), lease.Request{Mode: lease.ModeBorrow}); err != nil {
		t.Fatal(err)
	}
	read := rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get"}, ResourceNames: []string{"pharos-devbox"}}
	create := rbacv1.PolicyRule{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create"}}
	record := func(note string, rules ...rbacv1.PolicyRule) error {
		config, _ := devtest.User(t, c, ns, devtest.Rights{Namespaced: rules})
		r, err := controller.NewLeaseEvents(config, strings.Repeat("long", 100), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		return r.Record(t.Context(), controller.Event{Namespace: ns, Target: "devbox", Reason: "NotConverged", Note: note, Warning: true})
	}
	if err := record(strings.Repeat("é", 2000), read, create); err != nil {
		t.Error(err)
	}
	client := devtest.Client(t, c.Config())
	on, err := client.CoordinationV1().Leases(ns).Get(t.Context(), "pharos-devbox", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := client.CoreV1().Events(ns).SearchWithContext(t.Context(), nil, &corev1.ObjectReference{Kind: "Lease", Namespace: ns, Name: on.Name, UID: on.UID})
	if err != nil || len(found.Items) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	if e := found.Items[0]; e.Type != "Warning" || e.Reason != "NotConverged" || !strings.HasPrefix(e.Message, "éé") || !strings.HasSuffix(e.Message, "…") {
		t.Errorf("the Event is %+v", e)
	}
	for missing, rules := range map[string][]rbacv1.PolicyRule{"cannot create resource \"events\"": {read}, "cannot get resource \"leases\"": {create}} {
		if err := record("x", rules...); err == nil || !strings.Contains(err.Error(), missing) {
			t.Errorf("%v, want %s", err, missing)
		}
	}
}

func TestConfigOfWatchdogs(t *testing.T) {
	t.Parallel()
	s := newScript()
	_, err := controller.New(controller.Config{Watchdogs: []controller.Watchdog{
		{Namespace: "pharos", Target: "devbox", Lease: s}, {Namespace: "pharos", Target: "devbox", Lease: s}, {Target: "devbox", Lease: s},
		{Namespace: "pharos", Target: "late", Lease: s, Every: -1}, {Namespace: "pharos", Target: "unknown"}}})
	if err == nil {
		t.Fatal("it is accepted")
	}
	for _, want := range []string{"without Lease there is none", `two watchdogs of target "devbox"`, `target "devbox" in namespace "" lacks`, `target "unknown" in namespace "pharos" lacks`, "the interval -1ns"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
}
