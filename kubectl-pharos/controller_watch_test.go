package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
)

// Policies of the Application.
const (
	notHealing = "{automated: {}}"
	healing    = "{automated: {selfHeal: true}, retry: {limit: 0}}"
)

// proxiedThrough is the controller's connection by way of a proxy.
func proxiedThrough(t *testing.T, config *rest.Config) (*rest.Config, *faultproxy.Proxy) {
	t.Helper()
	p, err := faultproxy.ForCluster(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p.Config(config), p
}

// A holder who is gone gets what it borrowed given back by a controller that runs
// meanwhile, with the rights of deploy and no others; who looks at the Lease, the
// log or the metrics is told.
func TestControllerGivesBack(t *testing.T) {
	t.Parallel()
	b := newBorrowed(t, notHealing)
	before := b.spec()
	audit := devtest.RecordAudit(t, b.argo.Cluster())
	r := b.controller(b.account())
	b.vanish()
	r.says("msg=\"opened what a lease had left closed\"", "namespace="+b.name, "target=devbox", b.name)
	b.restored(before)

	if e := b.event(); e.Reason != "GateOpened" || !strings.Contains(e.Message, b.name) {
		t.Errorf("the Event on the Lease is %+v", e)
	}
	if m := r.metrics(); !strings.Contains(m, `pharos_lease_gates_opened_total{namespace="`+b.name+`",target="devbox"} 1`) {
		t.Errorf("the metrics are %s", m)
	}
	if rest, code := r.end(syscall.SIGTERM); code != exitDone {
		t.Errorf("exit code %d: %s", code, rest)
	}
	granted := map[string]bool{}
	for _, right := range b.rights() {
		granted[right.verb+" "+right.resource] = true
	}
	for _, e := range audit.Events(t, devtest.ByUser(b.user())) {
		if e.Resource != "selfsubjectaccessreviews" && (e.Code == http.StatusForbidden || !granted[e.Verb+" "+e.Resource]) {
			t.Errorf("%s %s is answered with %d", e.Verb, e.RequestURI, e.Code)
		}
	}
}

// Where the last operation failed Argo CD restores nothing, with self-heal
// neither, until the watchdog has it synced.
func TestControllerGivesBackAfterAFailedOperation(t *testing.T) {
	t.Parallel()
	b := newBorrowed(t, healing)
	before := b.spec()
	// What cannot be changed back makes the operation fail.
	b.edit(`{"immutable": true, "data": {"value": "edited"}}`)
	b.await("failed", func(a *unstructured.Unstructured) bool {
		phase := text(a, "status", "operationState", "phase")
		return (phase == "Failed" || phase == "Error") && a.Object["operation"] == nil
	})
	b.acquire(30 * time.Second)
	settings := b.kube.CoreV1().ConfigMaps(b.name)
	live, err := settings.Get(t.Context(), "settings", metav1.GetOptions{})
	if err == nil {
		err = settings.Delete(t.Context(), "settings", metav1.DeleteOptions{})
	}
	if err == nil {
		live.ObjectMeta, live.Immutable = metav1.ObjectMeta{Name: live.Name, Labels: live.Labels, Annotations: live.Annotations}, nil
		_, err = settings.Create(t.Context(), live, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	b.over()
	b.stuck()
	r := b.controller(b.account())
	r.says("msg=\"opened what a lease had left closed\"")
	b.restored(before)
}

// What cannot be restored is said with the Application and the reason, once, and
// keeps nobody's project closed.
func TestControllerSaysWhatDidNotConverge(t *testing.T) {
	t.Parallel()
	b := newBorrowed(t, notHealing)
	before := b.spec()
	b.leave(`{"immutable": true, "data": {"value": "edited"}}`)
	r := b.controller(b.account())
	if line := r.says("level=WARN", "msg=\"it did not become what is declared\"", "application="+b.name); !strings.Contains(line, "immutable") {
		t.Errorf("it says %s", line)
	}
	b.follow(b.projects, b.name, "as before", func(p *unstructured.Unstructured) bool { return specOf(p) == before })
	if m := r.metrics(); !strings.Contains(m, `pharos_lease_not_converged_total{namespace="`+b.name+`",target="devbox"} 1`) {
		t.Errorf("the metrics are %s", m)
	}
}

// A leader that is killed in the middle of giving back is followed by one that
// finishes it.
func TestControllerKilledWhileItGivesBack(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]faultproxy.Rule{
		"before the window ends":     {Method: http.MethodPatch, Path: regexp.MustCompile("/appprojects/")},
		"when the window has ended":  {Method: http.MethodPatch, Path: regexp.MustCompile("/appprojects/"), AfterUpstream: true},
		"before the refresh":         {Method: http.MethodPatch, Path: regexp.MustCompile("/applications/")},
		"before the sync":            {Method: http.MethodPatch, Path: regexp.MustCompile("/applications/"), Skip: 1},
		"before the window is taken": {Method: http.MethodPatch, Path: regexp.MustCompile("/appprojects/"), Skip: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBorrowed(t, notHealing)
			before := b.spec()
			account := b.account()
			config, proxy := proxiedThrough(t, account)
			fault.Do = faultproxy.Stall()
			stalled := proxy.Add(fault)
			b.leave(edited)
			first := b.controller(config)
			first.says("msg=leading")
			second := b.controller(account)
			second.says("msg=\"standing by\"")
			select {
			case <-stalled.Reached():
			case <-time.After(longest):
				t.Fatal("it never came there")
			}
			if err := first.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			second.says("msg=leading")
			b.restored(before)
		})
	}
}

// An API server that is not there for a while, and over the lease's end, is
// waited for.
func TestControllerWaitsForTheServer(t *testing.T) {
	t.Parallel()
	b := newBorrowed(t, notHealing)
	before := b.spec()
	config, proxy := proxiedThrough(t, b.account())
	r := b.controller(config)
	r.says("msg=leading")
	b.vanish()
	outage := proxy.Add(faultproxy.Rule{Do: faultproxy.Cut()})
	r.says("level=WARN", "cannot be reached")
	b.over()
	b.stuck()
	outage.Remove()
	b.restored(before)
}

// A project that is deleted right before its window is to be ended is no reason
// to give up: its Application is told of, and the next target is looked after.
func TestControllerOfADeletedProject(t *testing.T) {
	t.Parallel()
	b := newBorrowed(t, notHealing)
	config, proxy := proxiedThrough(t, b.account())
	stalled := proxy.Add(faultproxy.Rule{Method: http.MethodPatch, Path: regexp.MustCompile("/appprojects/"), Do: faultproxy.Stall()})
	b.leave(edited)
	r := b.controller(config)
	<-stalled.Reached()
	if err := b.projects.Delete(t.Context(), b.name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	stalled.Remove()
	r.says("level=WARN", "msg=\"it did not become what is declared\"", "application="+b.name)
	if m := r.metrics(); !strings.Contains(m, `pharos_lease_watch_failures_total{namespace="`+b.name+`",target="devbox"} 0`) {
		t.Errorf("the metrics are %s", m)
	}
}

// Thousands of windows of other people cost no requests, and stay as they are.
func TestControllerAmongOthersWindows(t *testing.T) {
	t.Parallel()
	b := newBorrowed(t, notHealing)
	var windows []map[string]any
	month := (time.Now().UTC().Month()+5)%12 + 1 // of another half-year
	for i := range 3000 {
		windows = append(windows, map[string]any{"kind": "deny", "schedule": fmt.Sprintf("%d %d 15 %d *", i%60, i/60%24, month), "duration": fmt.Sprintf("%ds", i+1),
			"applications": []string{"*"}, "timeZone": "Europe/Oslo", "manualSync": true})
	}
	data, err := json.Marshal(map[string]any{"spec": map[string]any{"syncWindows": windows}})
	if err != nil {
		t.Fatal(err)
	}
	b.merge(b.projects, string(data))
	before := b.spec()
	b.leave(edited)
	audit := devtest.RecordAudit(t, b.argo.Cluster())
	r := b.controller(b.account())
	r.says("msg=\"opened what a lease had left closed\"")
	b.restored(before)
	asked := map[string]int{}
	for _, e := range audit.Events(t, func(e devenv.AuditEvent) bool {
		return e.User == b.user() && (e.Resource == "appprojects" || e.Resource == "applications")
	}) {
		asked[e.Verb+" "+e.Resource]++
	}
	total := 0
	for _, n := range asked {
		total += n
	}
	if asked["patch appprojects"] > 4 || total > 100 {
		t.Errorf("it asked %v", asked)
	}
}

// While somebody else's window keeps the Application from being synced that is
// said, with the window, and when it has gone the Application is restored.
func TestControllerWaitsForOthersWindows(t *testing.T) {
	t.Parallel()
	b := newBorrowed(t, notHealing)
	before := b.spec()
	b.leave(edited)
	added := b.addWindow(map[string]any{"kind": "deny", "schedule": "* * * * *", "duration": "2m", "applications": []any{"*"}})
	r := b.controller(b.account())
	r.says("something else keeps it from being synced", "* * * * *")
	b.stuck()
	added()
	b.restored(before)
}

// Whatever stands in the Lease and among the windows, the controller does what
// can be done, and touches nothing whose owner cannot be told.
func TestControllerOfAHostileLease(t *testing.T) {
	t.Parallel()
	b := newBorrowed(t, notHealing)
	hostile := []string{"pharos.dev/lease=../x", "pharos.dev/lease=" + b.name + "/devbox/1", "pharos.dev/lease-ended=" + strings.Repeat("/", 5000),
		"pharos.dev/lease=" + b.name + "/other/1/HOLDER/2020-01-01T00:00:00Z", "pharos.dev/lease=" + b.name + "/devbox/99999999999999999999/H/2020-01-01T00:00:00Z"}
	var windows []map[string]any
	for i, h := range hostile {
		windows = append(windows, map[string]any{"kind": "deny", "schedule": fmt.Sprintf("%d 3 30 2 *", i), "duration": "1s", "applications": []string{"../../" + b.name, h}})
	}
	data, err := json.Marshal(map[string]any{"spec": map[string]any{"syncWindows": windows}})
	if err != nil {
		t.Fatal(err)
	}
	b.merge(b.projects, string(data))
	before := b.spec()
	b.leave(edited)
	junk := `{"metadata": {"annotations": {"pharos.dev/lease-mode": "\u001b[2J", "pharos.dev/lease-covers": "[[", "pharos.dev/lease-user": "\n\n", "pharos.dev/lease-expires": "never", "pharos.dev/lease-broken": "{"}},
		"spec": {"renewTime": "0001-01-01T00:00:00.000000Z", "acquireTime": "9999-12-31T23:59:59.000000Z", "leaseDurationSeconds": 2147483647, "leaseTransitions": 2147483647, "holderIdentity": "\u202e\u0007"}}`
	if _, err := b.kube.CoordinationV1().Leases(b.name).Patch(t.Context(), "pharos-devbox", types.MergePatchType, []byte(junk), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	r := b.controller(b.account())
	r.says("something else keeps it from being synced", "cannot be told")
	b.restored(before)
	if strings.ContainsAny(strings.Join(r.said, ""), "\x1b\x07\u202e") {
		t.Errorf("what stands in the Lease is printed as it is: %q", r.said)
	}
}

// addWindow adds a window to the project, and returns what removes it.
func (b *borrowed) addWindow(window map[string]any) (remove func()) {
	change := func(change func([]any) []any) {
		b.t.Helper()
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			p, err := b.projects.Get(b.t.Context(), b.name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			windows, _, _ := unstructured.NestedSlice(p.Object, "spec", "syncWindows")
			if windows = change(windows); len(windows) > 0 {
				err = unstructured.SetNestedSlice(p.Object, windows, "spec", "syncWindows")
			} else {
				unstructured.RemoveNestedField(p.Object, "spec", "syncWindows")
			}
			if err == nil {
				_, err = b.projects.Update(b.t.Context(), p, metav1.UpdateOptions{})
			}
			return err
		})
		if err != nil {
			b.t.Fatal(err)
		}
	}
	change(func(w []any) []any { return append(w, window) })
	return func() {
		change(func(w []any) []any {
			return slices.DeleteFunc(w, func(w any) bool { return w.(map[string]any)["schedule"] == window["schedule"] })
		})
	}
}

// event waits for the first Event on the target's Lease.
func (b *borrowed) event() *corev1.Event {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), longest)
	defer cancel()
	on, err := b.kube.CoordinationV1().Leases(b.name).Get(ctx, "pharos-devbox", metav1.GetOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	w, err := b.kube.CoreV1().Events(b.name).Watch(ctx, metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(on.UID)})
	if err != nil {
		b.t.Fatal(err)
	}
	defer w.Stop()
	for found := range w.ResultChan() {
		if e, ok := found.Object.(*corev1.Event); ok {
			return e
		}
	}
	b.t.Fatal("there is no Event on the Lease")
	return nil
}

// metrics are those that the controller serves.
func (r *replica) metrics() string {
	r.t.Helper()
	answer, err := http.Get("http://" + r.address + "/metrics")
	if err != nil {
		r.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(body)
}
