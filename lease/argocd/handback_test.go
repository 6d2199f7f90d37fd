package argocd_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
)

// lastSync are the revisions of the last operation, and who began it.
func (w *world) lastSync(folder string) string {
	w.t.Helper()
	op, _ := field(w.get(folder), "status.operationState.operation").(map[string]any)
	return string(jsonOf(w.t, op))
}

// What Argo CD leaves as it is, whatever it is asked to look, is restored when the
// gate is opened, by a full sync of the revision that was compared: with self-heal
// off, and with a manual policy where that revision was live before.
func TestHandBackOfWhatDoesNotHeal(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]string{"without self-heal": stale, "manual": manual} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := healed(t, policy, "api")
			c := w.claim(time.Hour, "api")
			w.close(c)
			w.edit("api", "edited")
			w.stays("api", "edited")
			w.open(c)
			if got := w.value("api"); got != "declared" {
				t.Errorf("it is %q", got)
			}
			mustContain(t, w.lastSync("api"), `"username":"pharos"`, `"revision":"`+w.git("rev-parse", "HEAD")+`"`)
			if strings.Contains(w.lastSync("api"), "prune\":true") || w.windows(w.name) != nil {
				t.Errorf("synced by %s, left over is %s", w.lastSync("api"), w.windows(w.name))
			}
		})
	}
}

// A manual policy says that a person decides when a new revision is live.
func TestHandBackOfARevisionThatNobodyHasSynced(t *testing.T) {
	t.Parallel()
	w := healed(t, manual, "api")
	c := w.claim(time.Hour, "api")
	w.close(c)
	w.edit("api", "edited")
	w.folder("api", "second")
	commit := w.push()
	c.Now = time.Now()
	r, err := w.gate().Open(t.Context(), c)
	if err != nil || len(r.Pending) != 1 || !r.Pending[0].Failed || r.Pending[0].Name != w.named("api") {
		t.Fatalf("%+v, %v", r, err)
	}
	mustContain(t, r.Pending[0].Reason, "its policy is manual", commit, "argocd app sync "+w.named("api"))
	if got := w.value("api"); got != "edited" {
		t.Errorf("it is %q", got)
	}
	if left := w.windows(w.name); left != nil {
		t.Errorf("left over is %s", left)
	}
}

// Argo CD does not heal what it failed to sync last, although its policy says so.
func TestHandBackAfterAFailedOperation(t *testing.T) {
	t.Parallel()
	w := healed(t, "{automated: {selfHeal: true}, retry: {limit: 0}}", "api")
	missing := w.name + "-later"
	w.write("api/more.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more, namespace: "+missing+"}\n")
	w.push()
	w.patch("api", `metadata: {annotations: {argocd.argoproj.io/refresh: normal}}`)
	w.await("api", "failed", func(a *unstructured.Unstructured) bool {
		return text(a, "status.operationState.phase") == "Failed" && a.Object["operation"] == nil
	})
	c := w.claim(time.Hour, "api")
	w.close(c)
	w.edit("api", "edited")
	w.stays("api", "edited")
	// What made it fail is mended meanwhile.
	namespaces := w.kube.CoreV1().Namespaces()
	if _, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: missing}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = namespaces.Delete(context.Background(), missing, metav1.DeleteOptions{}) })
	w.open(c)
	if got := w.value("api"); got != "declared" {
		t.Errorf("it is %q", got)
	}
	mustContain(t, w.lastSync("api"), `"username":"pharos"`)
}

// A sync that fails is reported, and tried by nobody again.
func TestHandBackThatFails(t *testing.T) {
	t.Parallel()
	w := healed(t, stale, "api")
	c := w.claim(time.Hour, "api")
	w.close(c)
	w.edit("api", "edited")
	w.write("api/more.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more, namespace: "+w.name+"-none}\n")
	w.push()
	w.patch("api", `spec: {syncPolicy: {retry: {limit: 0}}}`)
	c.Now = time.Now()
	r, err := w.gate().Open(t.Context(), c)
	if err != nil || len(r.Pending) != 1 || !r.Pending[0].Failed {
		t.Fatalf("%+v, %v", r, err)
	}
	mustContain(t, r.Pending[0].Reason, "its sync failed", w.name+"-none")
	if left := w.windows(w.name); left != nil {
		t.Errorf("left over is %s", left)
	}
}

// An operation that the window has parked would bring its own revision when the
// window ends, which may be an old one by then.
func TestParkedOperationIsRemoved(t *testing.T) {
	t.Parallel()
	w := healed(t, healing, "api")
	first := w.git("rev-parse", "HEAD")
	c := w.claim(time.Hour, "api")
	w.close(c)
	w.patch("api", `operation: {sync: {revision: `+first+`}, initiatedBy: {username: ann}}`)
	w.await("api", "parked", func(a *unstructured.Unstructured) bool {
		return strings.HasPrefix(text(a, "status.operationState.message"), "Sync operation blocked by sync window")
	})
	w.edit("api", "edited")
	w.folder("api", "second")
	second := w.push()
	w.open(c)
	if got := w.value("api"); got != "second" {
		t.Errorf("it is %q", got)
	}
	if op := w.lastSync("api"); strings.Contains(op, first) || !strings.Contains(op, second) {
		t.Errorf("the last operation is %s, want one of %s", op, second)
	}
	history, _ := field(w.get("api"), "status.history").([]any)
	for _, h := range history[1:] {
		if strings.Contains(string(jsonOf(t, h)), `"revision":"`+first) {
			t.Errorf("the old revision was synced again: %s", jsonOf(t, history))
		}
	}
}

// Several sources are synced at the revisions that were compared.
func TestHandBackOfSeveralSources(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devtest.ArgoCD(t))
	w.project(w.name, "")
	w.folder("api", "declared")
	w.folder("web", "declared")
	commit := w.push()
	app := w.application("api", w.name, stale)
	one := fmt.Sprintf("source: {repoURL: %q, targetRevision: main, path: %q}", w.url, "api")
	two := fmt.Sprintf("sources: [{repoURL: %[1]q, targetRevision: main, path: api}, {repoURL: %[1]q, targetRevision: main, path: web}]", w.url)
	w.create(w.apps, strings.Replace(app, one, two, 1))
	w.covers = []string{w.named("api")}
	w.synced("api")
	c := w.claim(time.Hour, "api")
	w.close(c)
	w.edit("web", "edited")
	w.await("api", "known to differ", func(a *unstructured.Unstructured) bool { return text(a, "status.sync.status") == "OutOfSync" })
	w.open(c)
	if got := w.value("web"); got != "declared" {
		t.Errorf("it is %q", got)
	}
	mustContain(t, w.lastSync("api"), `"username":"pharos"`, `"revisions":["`+commit+`","`+commit+`"]`)
}

// Other people's windows are named and left alone, byte for byte. What they close
// is left to do, and done by the Sweep that finds them gone.
func TestHandBackUnderOthersWindow(t *testing.T) {
	t.Parallel()
	w := healed(t, stale, "api", "web")
	theirs := `{kind: deny, schedule: "0 0 * * *", duration: 24h, timeZone: UTC, applications: ["` + w.named("api") + `"], manualSync: true, description: freeze}`
	w.merge(w.projects, w.name, "spec: {syncWindows: ["+other+"]}")
	c := w.claim(time.Hour, "api", "web")
	w.close(c)
	// They add theirs while the lease is held, before its window.
	w.merge(w.projects, w.name, "spec: {syncWindows: ["+theirs+", "+strings.Join(w.windows(w.name), ", ")+"]}")
	found := w.windows(w.name)
	w.edit("api", "edited")
	w.edit("web", "edited")
	w.stays("api", "edited")
	w.stays("web", "edited")
	c.Now = time.Now().UTC().Truncate(time.Second)
	r, err := w.gate().Open(t.Context(), c)
	if err != nil || len(r.Pending) != 1 || r.Pending[0].Name != w.named("api") || r.Pending[0].Failed || len(r.Others) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	mustContain(t, r.Others[0], w.named("api"), `"0 0 * * *" deny for 24h`)
	if got := w.value("api") + " " + w.value("web"); got != "edited declared" {
		t.Errorf("they are %s", got)
	}
	left := w.windows(w.name)
	if len(left) != 3 || left[0] != found[0] || left[1] != found[1] {
		t.Errorf("the windows are %s, were %s", left, found)
	}
	mustContain(t, left[2], "pharos.dev/lease-ended=", `"duration":"0s"`)
	// Another target's Sweep leaves it alone, and one of the same target goes on.
	s := w.sweep(c.Until)
	s.Target = "other"
	if r, err := w.gate().Sweep(t.Context(), s); err != nil || len(r.Opened)+len(r.Pending)+len(r.Others) != 0 {
		t.Errorf("another target swept %+v, %v", r, err)
	}
	if r, err := w.gate().Sweep(t.Context(), w.sweep(c.Until)); err != nil || len(r.Pending) != 1 {
		t.Errorf("swept %+v, %v", r, err)
	}
	w.merge(w.projects, w.name, "spec: {syncWindows: ["+strings.Join(w.windows(w.name)[1:], ", ")+"]}")
	if r, err := w.gate().Sweep(t.Context(), w.sweep(c.Until)); err != nil || len(r.Pending) != 0 {
		t.Errorf("swept %+v, %v", r, err)
	}
	if got := w.value("api"); got != "declared" {
		t.Errorf("it is %q", got)
	}
	if left := w.windows(w.name); len(left) != 1 || left[0] != found[1] {
		t.Errorf("left over is %s", left)
	}
}

// Who is out of time leaves the rest to the next one; nothing is closed meanwhile.
func TestHandBackOutOfTime(t *testing.T) {
	t.Parallel()
	w := healed(t, manual, "api")
	c := w.claim(time.Hour, "api")
	w.close(c)
	w.hook("api")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opened := make(chan lease.Report, 1)
	go func() {
		c.Now = time.Now().UTC().Truncate(time.Second)
		r, err := w.gate().Open(ctx, c)
		if err != nil {
			t.Error(err)
		}
		opened <- r
	}()
	w.awaitProject(w.name, "opened", func(p *unstructured.Unstructured) bool {
		return strings.Contains(strings.Join(windowsOf(t, p), ""), "lease-ended")
	})
	// It denies nothing; and by now the write that ended it has been answered.
	w.running("api")
	cancel()
	if r := <-opened; len(r.Opened) != 1 || len(r.Pending) != 1 || r.Pending[0].Failed {
		t.Errorf("reported %+v", r)
	}
	if left := w.windows(w.name); len(left) != 1 {
		t.Errorf("left over is %s", left)
	}
	w.terminate("api")
}

// Windows of the target that are left over are swept, whatever holder left them;
// one that cannot be told is reported, and it, and those of other targets and of a
// later holder, stay as they are.
func TestSweep(t *testing.T) {
	t.Parallel()
	w := healed(t, stale, "api", "web")
	now := time.Now().UTC().Truncate(time.Second)
	window := func(target string, token int, holder string, until time.Time, app string) string {
		return fmt.Sprintf(`{kind: deny, schedule: "%d %d * * *", duration: 24h, timeZone: UTC, applications: [%q, "pharos.dev/lease=%s/%s/%d/%s/%s"]}`,
			token, now.Add(-2*time.Hour).Hour(), app, w.name, target, token, holder, until.Format(time.RFC3339))
	}
	hour := now.Add(time.Hour)
	keep := []string{
		window("devbox", 7, "ITS-OWN", hour, "none"),
		window("devbox", 8, "LATER", hour, "none"),
		window("other", 1, "EARLIER", hour, "none"),
		`{kind: deny, schedule: "0 1 2 3 *", duration: 1h, applications: ["none", "pharos.dev/lease=devbox/1"]}`,
	}
	sweep := []string{
		window("devbox", 5, "EARLIER", hour, w.named("api")),
		window("devbox", 7, "OTHER", hour, w.named("web")),
		window("devbox", 9, "LATER-AND-OVER", now.AddDate(-1, 0, 0), w.named("api")),
	}
	w.merge(w.projects, w.name, "spec: {syncWindows: ["+strings.Join(append(sweep, keep...), ", ")+"]}")
	want := w.windows(w.name)[len(sweep):]
	w.edit("api", "edited")
	w.edit("web", "edited")
	c := w.claim(time.Hour)
	c.Holder, c.Token, c.Now = "ITS-OWN", 7, now
	r, err := w.gate().Sweep(t.Context(), c)
	if err != nil || len(r.Opened) != 3 || len(r.Pending) != 0 || len(r.Others) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	mustContain(t, r.Others[0], "AppProject argocd/"+w.name, "window 6", "pharos.dev/lease=devbox/1")
	if got := w.windows(w.name); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the windows are %s, want %s", got, want)
	}
	if got := w.value("api") + " " + w.value("web"); got != "declared declared" {
		t.Errorf("they are %s", got)
	}
	requests := w.counted(func() {
		if r, err := w.gate().Sweep(t.Context(), c); err != nil || len(r.Opened) != 0 {
			t.Errorf("swept twice: %+v, %v", r, err)
		}
	})
	if requests != 1 {
		t.Errorf("where nothing is left over it made %d requests", requests)
	}
}

// counted counts the requests of a gate that f makes.
func (w *world) counted(f func()) int {
	config := w.config
	defer func() { w.config = config }()
	counting, counter := devtest.Count(config)
	w.config = counting
	f()
	return len(counter.Requests())
}
