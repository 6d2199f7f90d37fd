package restore_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
	"github.com/pharos-dev/pharos/lifecycle/takeover/restore"
)

// A session is its holder's while that has the lease, and is ended after that.
func TestPassAfterTheLease(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.restorer(b.cluster.Config(), nil)
	if report := b.pass(r); report.Session != "" || report.Done {
		t.Errorf("got %+v", report)
	}
	b.takenOver(time.Hour, 0, "api", "web")
	b.silent() // which this session allows
	report := b.pass(r)
	if report.Session != "S1" || report.User != "ann@desk" || report.Reason != "" || report.Left != "ann@desk has it" || report.Diverted != 2 {
		t.Errorf("got %+v", report)
	}
	b.diverted()
	b.release()
	report = b.pass(r)
	if !report.Done || report.Reason != "its lease is over" || len(report.Workloads) != 2 || report.Workloads[1].Outcome != divert.OutcomeRestored || report.Diverted != 0 {
		t.Errorf("got %+v", report)
	}
	b.whole(false)
	if report := b.pass(r); report.Session != "" {
		t.Errorf("got %+v", report)
	}
}

// A laptop is lost for good: soon after the lease has ended by itself, grace included,
// all is whole.
func TestWatchAfterTheEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deliver("api")
	b.takenOver(10*time.Second, 0, "api")
	end := b.held.State().Expires
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var last restore.Report
	err := b.restorer(b.cluster.Config(), nil).Watch(ctx, restore.WatchConfig{Every: time.Second, Observed: func(r restore.Report, err error) {
		if err != nil {
			t.Error(err)
		}
		if last = r; r.Done {
			cancel()
		}
	}})
	if err != nil || !last.Done {
		t.Fatalf("got %+v, %v", last, err)
	}
	b.whole(false)
	now, err := b.leases.Inspect(t.Context())
	if err != nil || now.Now.Before(end.Add(time.Second)) {
		t.Errorf("it was put back at %s, and the lease ended at %s", now.Now, end)
	}
}

// Who acquired the lease meanwhile, for something else, does not keep it from being put
// back.
func TestPassWithAnotherHolder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.takenOver(time.Hour, 0, "api")
	b.release()
	if _, err := b.leases.Acquire(t.Context(), lease.Request{Mode: lease.ModeMaintain, User: "carl@ops"}); err != nil {
		t.Fatal(err)
	}
	if report := b.pass(b.restorer(b.cluster.Config(), nil)); !report.Done || !strings.Contains(report.Reason, "carl@ops has acquired it") {
		t.Errorf("got %+v", report)
	}
	b.whole(false)
}

// After the silence that the session says the workloads are put back though the lease is
// held. What is written down stays for the holder, who must not go on, and goes with the
// lease.
func TestPassAfterSilence(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := b.takenOver(time.Hour, 2*time.Minute, "api")
	r := b.restorer(b.cluster.Config(), nil)
	if report := b.pass(r); report.Reason != "" {
		t.Errorf("got %+v", report)
	}
	b.silent()
	report := b.pass(r)
	if !report.Done || !strings.HasPrefix(report.Reason, "its holder has been silent for") || report.Workloads[0].Outcome != divert.OutcomeRestored {
		t.Errorf("got %+v", report)
	}
	b.whole(true)
	have, err := b.store.Beat(t.Context(), session)
	if !errors.Is(err, journal.ErrEnding) || !have.Document.Ending.Done || have.Document.Ending.By != "bob@lab" || have.Document.Workloads[0].State != journal.HandedBack {
		t.Errorf("got %+v, %v", have, err)
	}
	if report := b.pass(r); report.Reason != "" || report.Diverted != 0 || report.Session != "S1" {
		t.Errorf("got %+v", report)
	}
	b.release()
	if report := b.pass(r); !report.Done {
		t.Errorf("got %+v", report)
	}
	b.whole(false)
}

// The holder comes back after a silence, and diverts anew: then it has the session again.
func TestHolderComesBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.takenOver(time.Hour, 2*time.Minute, "api")
	b.silent()
	r := b.restorer(b.cluster.Config(), nil)
	b.pass(r)
	have, err := b.store.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	have.Document.Ending, have.Document.Workloads[0].State = nil, journal.Diverting
	again, err := b.store.Save(t.Context(), have) // which is a sign of life
	if err != nil {
		t.Fatal(err)
	}
	if report := b.pass(r); report.Reason != "" || report.Left == "" {
		t.Errorf("got %+v", report)
	}
	if _, err := b.store.Beat(t.Context(), again); err != nil {
		t.Error(err)
	}
}

// With force anybody ends a session from anywhere, and the holder finds out who did.
func TestForce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.restorer(b.cluster.Config(), nil)
	if _, err := r.Restore(t.Context(), restore.Request{Force: true}); !errors.Is(err, journal.ErrNone) {
		t.Errorf("got %v", err)
	}
	b.takenOver(time.Hour, 0, "api", "web")
	report, err := r.Restore(t.Context(), restore.Request{})
	if held, ok := errors.AsType[*lease.HeldError](err); !ok || held.State.User != "ann@desk" || report.Session != "S1" {
		t.Errorf("got %+v, %v", report, err)
	}
	b.diverted()
	report, err = r.Restore(t.Context(), restore.Request{Force: true, Reason: "her laptop is gone"})
	if err != nil || !report.Done || len(report.Workloads) != 2 || report.Reason != "her laptop is gone" {
		t.Errorf("got %+v, %v", report, err)
	}
	b.whole(false)
	if err := b.held.Check(t.Context()); !errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "bob@lab") || !strings.Contains(err.Error(), "her laptop is gone") {
		t.Errorf("got %v", err)
	}
}

// Where something else puts back what Git declares, it is only looked, and what is
// written down goes when that is done.
func TestOthers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.takenOver(time.Hour, 2*time.Minute, "api")
	audit := devtest.RecordAudit(t, b.cluster)
	config, user := devtest.User(t, b.cluster, b.namespace, devtest.Rights{Namespaced: append(slices.Clip(toSee),
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"delete"}, ResourceNames: []string{"pharos-devbox.takeover"}})})
	r := b.restorer(config, func(c *restore.Config) { c.Others = true })
	b.silent()
	for _, end := range []func(){func() {}, b.release} { // first the holder is silent
		end()
		if report := b.pass(r); report.Done || report.Diverted != 1 || report.Reason == "" || !strings.Contains(report.Left, "what delivers the target puts it back") {
			t.Errorf("got %+v", report)
		}
	}
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		if e.Verb != "get" && e.Resource != "selfsubjectaccessreviews" {
			t.Errorf("it did %s %s", e.Verb, e.RequestURI)
		}
	}
	b.diverted()
	// Self-heal does it, by the values that Git declares.
	b.deliverAnew("api")
	report := b.pass(r)
	if !report.Done || report.Diverted != 0 || report.Left != "" || len(report.Workloads) != 1 || report.Workloads[0].Outcome != divert.OutcomeWhole {
		t.Errorf("got %+v", report)
	}
	b.whole(false)
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		if e.Verb != "get" && e.Resource != "selfsubjectaccessreviews" && e.Verb+" "+e.Resource != "delete secrets" {
			t.Errorf("it did %s %s", e.Verb, e.RequestURI)
		}
	}
}

// While its holder may come back, what is written down stays, also if nothing of the
// agent is there; and a person may put back what something else has not yet.
func TestOthersLeaveWhatTheHolderHas(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.takenOver(time.Hour, 2*time.Minute, "api")
	b.silent()
	others := b.restorer(b.cluster.Config(), func(c *restore.Config) { c.Others = true })
	b.deliverAnew("api")
	if report := b.pass(others); report.Done || report.Reason == "" {
		t.Errorf("got %+v", report)
	}
	if _, err := b.store.Load(t.Context()); err != nil {
		t.Error(err)
	}
	b.release()
	if report, err := others.Restore(t.Context(), restore.Request{}); err != nil || !report.Done {
		t.Errorf("got %+v, %v", report, err)
	}
	b.whole(false)
}

// Several at once do what one does.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.takenOver(time.Hour, 0, "api", "web")
	b.release()
	var all sync.WaitGroup
	for range 4 {
		r := b.restorer(b.cluster.Config(), nil)
		all.Go(func() {
			if _, err := r.Pass(t.Context()); err != nil && !errors.Is(err, journal.ErrNone) && !errors.Is(err, journal.ErrConflict) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	b.pass(b.restorer(b.cluster.Config(), nil))
	b.whole(false)
}

// A holder that comes back right before a workload is put back keeps it.
func TestHolderIsFaster(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.takenOver(time.Hour, 2*time.Minute, "api")
	b.silent()
	proxy, err := faultproxy.ForCluster(b.cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	stalled := proxy.Add(faultproxy.Rule{Method: http.MethodGet, Path: regexp.MustCompile("/deployments/api"), Times: 1, Do: faultproxy.Stall()})
	r := b.restorer(proxy.Config(b.cluster.Config()), nil)
	done := make(chan restore.Report, 1)
	go func() {
		report, err := r.Pass(t.Context())
		if err != nil {
			t.Error(err)
		}
		done <- report
	}()
	<-stalled.Reached()
	session, err := b.store.Load(t.Context())
	if err != nil || session.Document.Ending == nil {
		t.Fatalf("got %+v, %v", session, err)
	}
	session.Document.Ending = nil
	if session, err = b.store.Save(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	if _, err := b.store.Beat(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	stalled.Release()
	if report := <-done; report.Reason != "" || report.Left != "ann@desk has it" {
		t.Errorf("got %+v", report)
	}
	b.diverted()
}

// One workload that cannot be put back keeps none of the others, and the next pass goes
// on with it.
func TestOneFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.takenOver(time.Hour, 0, "api", "web")
	b.release()
	proxy, err := faultproxy.ForCluster(b.cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	proxy.Add(faultproxy.Rule{Method: http.MethodPatch, Path: regexp.MustCompile("/deployments/api"), Do: faultproxy.Answer(http.StatusForbidden)})
	report, err := b.restorer(proxy.Config(b.cluster.Config()), nil).Pass(t.Context())
	if err == nil || report.Done || report.Diverted != 1 || len(report.Workloads) != 2 || report.Workloads[0].Err == nil || report.Workloads[1].Err != nil ||
		!strings.Contains(err.Error(), "Deployment "+b.namespace+"/api") {
		t.Errorf("got %+v, %v", report, err)
	}
	if report := b.pass(b.restorer(b.cluster.Config(), nil)); !report.Done {
		t.Errorf("got %+v", report)
	}
	b.whole(false)
}

// What somebody else has changed is kept and named, and what is not the target's is not
// touched, whatever the session object says.
func TestKeptAndForeign(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.takenOver(time.Hour, 0, "api", "web")
	b.release()
	patch := func(name, patch string) {
		if _, err := b.admin.AppsV1().Deployments(b.namespace).Patch(t.Context(), name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	patch("api", `[{"op":"replace","path":"/spec/template/spec/containers/0/command","value":["sh"]}]`)
	patch("web", `[{"op":"remove","path":"/metadata/labels/pharos.dev~1target"}]`)
	r := b.restorer(b.cluster.Config(), nil)
	report, err := r.Pass(t.Context())
	if !errors.Is(err, divert.ErrNotDelivered) || report.Done || len(report.Workloads) != 2 || len(report.Workloads[0].Kept) != 1 {
		t.Errorf("got %+v, %v", report, err)
	}
	if !strings.Contains(part(t, b.live("web"), "spec"), agent) {
		t.Error("what is not the target's was written")
	}
	// It is known still how it is put back.
	patch("web", `[{"op":"add","path":"/metadata/labels","value":{"pharos.dev/target":"devbox"}}]`)
	if report := b.pass(r); !report.Done || strings.Contains(part(t, b.live("web"), "spec"), agent) {
		t.Errorf("got %+v", report)
	}
}

// What cannot be read is touched by nobody but who asks for it with force: then it is
// kept as a copy, the lease ends, and another takeover can begin.
func TestDamagedSession(t *testing.T) {
	t.Parallel()
	for name, patch := range map[string]string{
		"truncated":   `{"stringData":{"session.json":"{\"version\":1,\"session\":\"S"}}`,
		"later":       `{"stringData":{"session.json":"{\"version\":2,\"new\":true}"}}`,
		"hand-edited": `{"stringData":{"session.json":"{\"version\":1,\"session\":\"S1\",\"target\":\"prod\"}"}}`,
		"empty":       `{"data":{"session.json":null}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.takenOver(time.Hour, 0, "api")
			secrets := b.admin.CoreV1().Secrets(b.namespace)
			if _, err := secrets.Patch(t.Context(), journal.ObjectName("devbox"), types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			was, err := secrets.Get(t.Context(), journal.ObjectName("devbox"), metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			r := b.restorer(b.cluster.Config(), nil)
			// While somebody has the target it may be theirs, who know better.
			if report, err := r.Pass(t.Context()); !errors.Is(err, journal.ErrDamaged) || report.Reason != "" {
				t.Errorf("got %+v, %v", report, err)
			}
			for _, q := range []restore.Request{{}, {Force: true, DryRun: true}} {
				_, err := r.Restore(t.Context(), q)
				if !errors.Is(err, journal.ErrDamaged) || !strings.Contains(err.Error(), "kubectl pharos handback --force --reason TEXT") ||
					!strings.Contains(err.Error(), "kubectl get secret pharos-devbox.takeover --namespace "+b.namespace) {
					t.Errorf("got %v", err)
				}
			}
			if err := b.held.Check(t.Context()); err != nil {
				t.Error(err)
			}
			report, err := r.Restore(t.Context(), restore.Request{Force: true, Reason: "it cannot be read"})
			if err != nil || !report.Done || report.Aside == "" || !strings.Contains(report.Left, b.namespace+"/"+report.Aside) {
				t.Fatalf("got %+v, %v", report, err)
			}
			copied, err := secrets.Get(t.Context(), report.Aside, metav1.GetOptions{})
			if err != nil || !maps.EqualFunc(copied.Data, was.Data, slices.Equal) {
				t.Errorf("the copy is %+v, %v", copied, err)
			}
			if err := b.held.Check(t.Context()); !errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "it cannot be read") {
				t.Errorf("got %v", err)
			}
			b.diverted()
			if _, err := r.Restore(t.Context(), restore.Request{Force: true}); !errors.Is(err, journal.ErrNone) {
				t.Errorf("got %v", err)
			}
			if report := b.pass(r); report.Reason != "" {
				t.Errorf("got %+v", report)
			}
		})
	}
}

// The controller says of what cannot be read that it is over, once nobody has the target.
func TestDamagedSessionIsOver(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.takenOver(time.Hour, 0, "api")
	b.release()
	_, err := b.admin.CoreV1().Secrets(b.namespace).Patch(t.Context(), journal.ObjectName("devbox"), types.MergePatchType, []byte(`{"stringData":{"session.json":"{"}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := b.restorer(b.cluster.Config(), nil)
	if report, err := r.Pass(t.Context()); !errors.Is(err, journal.ErrDamaged) || report.Reason == "" {
		t.Errorf("got %+v, %v", report, err)
	}
	// It is not a delivery that is under way whose lease is taken away.
	held, err := b.leases.Acquire(t.Context(), lease.Request{Mode: lease.ModeDeliver, User: "carl@ops"})
	if err != nil {
		t.Fatal(err)
	}
	if report, err := r.Restore(t.Context(), restore.Request{Force: true}); err != nil || report.Aside == "" {
		t.Errorf("got %+v, %v", report, err)
	}
	if err := held.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// A sign of life that cannot be read ends nothing before the lease does.
func TestDamagedHeartbeat(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := b.takenOver(time.Hour, time.Minute, "api")
	patch := func() {
		_, err := b.admin.CoreV1().Secrets(b.namespace).Patch(t.Context(), journal.ObjectName("devbox"), types.MergePatchType, []byte(`{"stringData":{"heartbeat":"noon"}}`), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	patch()
	r := b.restorer(b.cluster.Config(), nil)
	if report := b.pass(r); report.Reason != "" || report.Session != "S1" {
		t.Errorf("got %+v", report)
	}
	if _, err := b.store.Beat(t.Context(), session); err != nil { // which mends it
		t.Error(err)
	}
	b.silent()
	b.diverted()
	patch()
	b.release()
	if report := b.pass(r); !report.Done {
		t.Errorf("got %+v", report)
	}
	b.whole(false)
}

// A dry run says what would be done, and writes nothing.
func TestDryRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.restorer(b.cluster.Config(), nil)
	if _, err := r.Restore(t.Context(), restore.Request{DryRun: true}); !errors.Is(err, journal.ErrNone) {
		t.Errorf("got %v", err)
	}
	b.takenOver(time.Hour, 0, "api", "web")
	if _, err := b.admin.AppsV1().Deployments(b.namespace).Patch(t.Context(), "web", types.JSONPatchType,
		[]byte(`[{"op":"replace","path":"/spec/template/spec/containers/0/command","value":["sh"]}]`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	audit := devtest.RecordAudit(t, b.cluster)
	config, user := devtest.User(t, b.cluster, b.namespace, devtest.Rights{Namespaced: toSee})
	report, err := b.restorer(config, nil).Restore(t.Context(), restore.Request{DryRun: true, Force: true, Reason: "a look"})
	if err != nil || report.Done || report.Diverted != 2 || len(report.Workloads) != 2 || report.Session != "S1" || report.User != "ann@desk" || report.Lease.User != "ann@desk" || !report.Lease.Held {
		t.Errorf("got %+v, %v", report, err)
	}
	for i, kept := range []int{0, 1} {
		if w := report.Workloads[i]; w.Outcome != divert.OutcomeRestored || len(w.Kept) != kept || w.Restored[0] != "/image" {
			t.Errorf("got %+v", w)
		}
	}
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		if e.Verb != "get" && e.Resource != "selfsubjectaccessreviews" {
			t.Errorf("it did %s %s", e.Verb, e.RequestURI)
		}
	}
	b.diverted()
	if err := b.held.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

var (
	toLook = []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get"}, ResourceNames: []string{"pharos-devbox"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}, ResourceNames: []string{"pharos-devbox.takeover"}},
	}
	// toSee are those to see what would be done.
	toSee = append(toLook[:len(toLook):len(toLook)], rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get"}})
	// documented are the rights that the package comment names.
	documented = []rbacv1.PolicyRule{
		toLook[0],
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "patch", "delete"}, ResourceNames: []string{"pharos-devbox.takeover"}},
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get", "patch"}},
	}
)

// The rights are enough, and each is used. What it costs is what is said.
func TestRights(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.takenOver(time.Hour, 0, "api")
	b.settled("api")
	b.release()
	config, user := devtest.User(t, b.cluster, b.namespace, devtest.Rights{Namespaced: documented})
	audit := devtest.RecordAudit(t, b.cluster)
	if report := b.pass(b.restorer(config, nil)); !report.Done {
		t.Errorf("got %+v", report)
	}
	b.whole(false)
	did := map[string]int{}
	for _, e := range audit.Events(t, func(e devenv.AuditEvent) bool { return e.User == user && e.Resource != "selfsubjectaccessreviews" }) {
		if e.Code == http.StatusForbidden {
			t.Errorf("%s %s was forbidden", e.Verb, e.RequestURI)
		}
		if e.Code < http.StatusBadRequest { // not what met a write of the rollout
			did[e.Verb+" "+e.Resource]++
		}
	}
	want := map[string]int{"get secrets": 3, "get leases": 1, "patch secrets": 1, "get deployments": 3, "patch deployments": 2, "delete secrets": 1}
	same := func(did, want int) bool { return did == want }
	if did["get deployments"] > want["get deployments"] { // some write was made again
		same = func(did, want int) bool { return did >= want }
	}
	if !maps.EqualFunc(did, want, same) {
		t.Errorf("it did %v, want %v", did, want)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []restore.Config{{}, {By: "b", Lease: (*lease.Manager)(nil)}} {
		if _, err := restore.New(c); !errors.Is(err, restore.ErrInvalid) {
			t.Errorf("got %v", err)
		}
	}
}
