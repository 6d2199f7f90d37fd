package argocd_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
)

// other is a window of other people, with fields that Pharos has no use for.
const other = `{kind: deny, schedule: "0 3 1 1 *", duration: 60m, applications: ["other-*", "x"], clusters: [in-cluster-of-others], manualSync: true, andOperator: true, description: "of others"}`

func TestExtend(t *testing.T) {
	t.Parallel()
	w := healed(t, healing, "api", "web")
	w.merge(w.projects, w.name, "spec: {syncWindows: ["+other+"]}")
	before := w.spec(w.name)
	c := w.claim(time.Hour, "api", "web")
	w.close(c)
	w.merge(w.projects, w.name, "metadata: {labels: {touched: by-others}}")

	guarded := 0
	c.Guard = func(context.Context) error { guarded++; return nil }
	c.Now, c.Until = c.Now.Add(time.Minute), c.Until.Add(10*time.Minute)
	if err := w.gate().Extend(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	extended := w.windows(w.name)
	mustContain(t, extended[1], "/HOLDER/"+c.Until.Format(time.RFC3339))
	if guarded != 1 {
		t.Errorf("%d writes were guarded", guarded)
	}
	// The same end, or an earlier one, is only looked at.
	for _, until := range []time.Time{c.Until, c.Until.Add(-30 * time.Minute)} {
		c.Until = until
		if err := w.gate().Extend(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.windows(w.name); guarded != 1 || got[1] != extended[1] {
		t.Errorf("%d writes, it is %s, was %s", guarded, got[1], extended[1])
	}
	// A guard's error is returned as it is, and nothing is written.
	lost := errors.New("lost")
	c.Guard, c.Until = func(context.Context) error { return lost }, c.Until.Add(3*time.Hour)
	if err := w.gate().Extend(t.Context(), c); err != lost {
		t.Errorf("got %v", err)
	}
	w.edit("api", "edited")
	w.stays("api", "edited")
	w.open(c)
	if after := w.spec(w.name); after != before {
		t.Errorf("the project is %s, was %s", after, before)
	}
}

// Whatever somebody makes of a window, the holder learns of it, and of who did it
// where that is recorded; but a description is anybody's.
func TestWindowThatIsChanged(t *testing.T) {
	t.Parallel()
	w := healed(t, healing, "api", "web")
	w.merge(w.projects, w.name, "spec: {syncWindows: ["+other+"]}")
	c := w.claim(time.Hour, "api")
	w.close(c)
	closed := "spec: {syncWindows: [" + strings.Join(w.windows(w.name), ", ") + "]}"
	project := func(patch string) func() {
		return func() {
			if _, err := w.projects.Patch(t.Context(), w.name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{FieldManager: "meddler"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	set := func(field, value string) func() {
		return project(`[{"op":"add","path":"/spec/syncWindows/1/` + field + `","value":` + value + `}]`)
	}
	later := c
	later.Until = c.Until.Add(time.Minute)
	for _, tt := range []struct {
		name   string
		change func()
		says   []string
	}{
		{"nothing", func() {}, nil},
		{"description", set("description", `"look here"`), nil},
		{"others' window", project(`[{"op":"remove","path":"/spec/syncWindows/0"}]`), nil},
		{"others add one", project(`[{"op":"add","path":"/spec/syncWindows/0","value":{"kind":"allow","schedule":"* * * * *","duration":"1h","applications":["` + w.named("web") + `"]}}]`), nil},
		{"removed", project(`[{"op":"remove","path":"/spec/syncWindows/1"}]`), []string{"the window for " + w.named("api") + " is not there", `by "meddler"`}},
		{"all removed", project(`[{"op":"remove","path":"/spec/syncWindows"}]`), []string{"is not there"}},
		{"allowed", set("kind", `"allow"`), []string{`kind is "allow", not "deny"`, `by "meddler"`}},
		{"manual", set("manualSync", "true"), []string{"manualSync is true"}},
		{"shorter", set("duration", `"1m"`), []string{"lasts 1m"}},
		{"elsewhere", set("schedule", `"0 0 1 1 *"`), []string{`starts at "0 0 1 1 *"`}},
		{"time zone", set("timeZone", `"Asia/Tokyo"`), []string{"timeZone"}},
		{"for another", set("applications/0", `"`+w.named("web")+`"`), []string{"for " + w.named("web")}},
		{"for less", project(`[{"op":"remove","path":"/spec/syncWindows/1/applications/0"}]`), []string{"is not there"}},
		{"for more", set("namespaces", `["x"]`), []string{"namespaces is"}},
		{"twice", project(`[{"op":"copy","from":"/spec/syncWindows/1","path":"/spec/syncWindows/2"}]`), []string{"2 times"}},
		{"moved", func() { w.project(w.name+"-other", ""); w.patch("api", "spec: {project: "+w.name+"-other}") }, []string{"its project is " + w.name + "-other now"}},
		{"gone", func() {
			w.patch("api", "spec: {project: "+w.name+"}")
			if err := w.apps.Delete(t.Context(), w.named("api"), metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}, nil},
	} {
		w.merge(w.projects, w.name, closed)
		tt.change()
		before := w.spec(w.name)
		for _, c := range []lease.Claim{c, later} {
			err := w.gate().Extend(t.Context(), c)
			if tt.says == nil {
				if err != nil {
					t.Errorf("%s: got %v", tt.name, err)
				}
				continue
			}
			if !errors.Is(err, lease.ErrOpened) {
				t.Errorf("%s: got %v", tt.name, err)
				continue
			}
			mustContain(t, err.Error(), tt.says...)
			if after := w.spec(w.name); after != before {
				t.Errorf("%s: it wrote %s", tt.name, after)
			}
		}
	}
	w.merge(w.projects, w.name, closed)
	over := c
	over.Now = c.Until
	over.Until = c.Until.Add(time.Hour)
	if err := w.gate().Extend(t.Context(), over); !errors.Is(err, lease.ErrOpened) {
		t.Errorf("one that has ended is extended: %v", err)
	}
}

// Where Git declares the windows of a project, Argo CD puts them back; where Git
// says nothing of windows, a lease's stays.
func TestProjectInGit(t *testing.T) {
	t.Parallel()
	for name, windows := range map[string]string{"declares windows": "  syncWindows: [" + other + "]\n", "declares none": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, devtest.ArgoCD(t))
			project := w.name + "-shop"
			w.write("projects/project.yaml", "apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: "+project+", namespace: "+w.argo.Namespace()+"}\nspec:\n"+
				"  sourceRepos: [\"*\"]\n  destinations: [{server: \"*\", namespace: \"*\"}]\n  clusterResourceWhitelist: [{group: \"*\", kind: \"*\"}]\n"+windows)
			w.folder("api", "declared")
			w.push()
			w.project(w.name, "")
			w.create(w.apps, w.application("projects", w.name, healing))
			w.synced("projects")
			t.Cleanup(func() { _ = w.projects.Delete(context.Background(), project, metav1.DeleteOptions{}) })
			w.app("api", project, healing)
			w.synced("api")
			c := w.claim(time.Hour, "api")
			w.close(c)
			later := c
			later.Until = c.Until.Add(time.Minute)
			if windows == "" {
				w.compared("projects")
				if err := w.gate().Extend(t.Context(), later); err != nil {
					t.Error(err)
				}
				w.open(c)
				return
			}
			w.awaitProject(project, "put back", func(p *unstructured.Unstructured) bool { return len(windowsOf(t, p)) == 1 })
			err := w.gate().Extend(t.Context(), later)
			if !errors.Is(err, lease.ErrOpened) {
				t.Fatalf("got %v", err)
			}
			mustContain(t, err.Error(), "AppProject argocd/"+project, "is not there any more", `by "argocd-controller"`)
		})
	}
}
