package argocd_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
)

// hook has an Application's syncs run until somebody ends them: it waits for a pod
// that no node runs.
func (w *world) hook(folder string) {
	w.t.Helper()
	w.write(folder+"/hook.yaml", fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata:
  name: %s-hook
  annotations: {argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/hook-delete-policy: BeforeHookCreation}
spec:
  template:
    spec:
      restartPolicy: Never
      nodeSelector: {there: is-none}
      containers: [{name: hook, image: registry.invalid/none}]
`, folder))
	w.push()
}

// running begins a sync as a person does, and waits until it waits for its hook.
func (w *world) running(folder string) {
	w.t.Helper()
	w.patch(folder, `operation: {sync: {}, initiatedBy: {username: ann}}`)
	w.await(folder, "running", func(a *unstructured.Unstructured) bool {
		return text(a, "status.operationState.phase") == "Running" && strings.Contains(text(a, "status.operationState.message"), "hook")
	})
}

// terminate ends an operation that runs. The controller may overwrite that it is
// to end.
func (w *world) terminate(folder string) {
	w.t.Helper()
	const patch = `[{"op":"test","path":"/status/operationState/phase","value":"Running"},{"op":"replace","path":"/status/operationState/phase","value":"Terminating"}]`
	for w.get(folder).Object["operation"] != nil {
		_, err := w.apps.Patch(w.t.Context(), w.named(folder), types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
		if err != nil && !argo.Changed(err) {
			w.t.Fatal(err)
		}
		w.compared(folder)
	}
}

// A window would stop an operation that runs half-way, and nobody could end it
// then.
func TestNeverOverARunningOperation(t *testing.T) {
	t.Parallel()
	w := healed(t, manual, "api")
	before := w.spec(w.name)
	w.hook("api")
	w.running("api")
	c := w.claim(time.Hour, "api")
	c.Wait = time.Second
	c.Guard = func(context.Context) error {
		t.Error("something was to be written")
		return nil
	}
	err := w.gate().Close(t.Context(), c)
	if !errors.Is(err, lease.ErrBusy) {
		t.Fatalf("got %v", err)
	}
	mustContain(t, err.Error(), "Application argocd/"+w.named("api"), "begun by ann", "argocd app terminate-op "+w.named("api"))
	if after := w.spec(w.name); after != before {
		t.Errorf("the project is %s, was %s", after, before)
	}
	c.Wait, c.Guard = patience, nil
	closed := make(chan error, 1)
	go func() { closed <- w.gate().Close(t.Context(), c) }()
	w.terminate("api")
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if n := len(w.windows(w.name)); n != 1 {
		t.Errorf("%d windows", n)
	}
	if phase := text(w.get("api"), "status.operationState.phase"); phase == "Running" {
		t.Errorf("the window was opened while it was %s", phase)
	}
}

// generation counts the changes of the project's spec.
func (w *world) generation() int64 {
	w.t.Helper()
	p, err := w.projects.Get(w.t.Context(), w.name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return p.GetGeneration()
}

// An operation that begins between the look and the window is let run to its end:
// the window is taken away again.
func TestOperationThatSlipsIn(t *testing.T) {
	t.Parallel()
	w := healed(t, manual, "api")
	before := w.spec(w.name)
	w.hook("api")
	for _, wait := range []time.Duration{0, patience} {
		c := w.claim(time.Hour, "api")
		c.Wait = wait
		generation := w.generation()
		writing, begun := make(chan bool), make(chan bool)
		var once sync.Once
		c.Guard = func(context.Context) error {
			once.Do(func() { writing <- true; <-begun })
			return nil
		}
		closed := make(chan error, 1)
		go func() { closed <- w.gate().Close(t.Context(), c) }()
		<-writing
		w.running("api")
		close(begun)
		if wait == 0 {
			err := <-closed
			if !errors.Is(err, lease.ErrBusy) {
				t.Fatalf("got %v", err)
			}
			mustContain(t, err.Error(), w.named("api"), "begun by ann")
			if after := w.spec(w.name); after != before {
				t.Errorf("the project is %s, was %s", after, before)
			}
			w.terminate("api")
			continue
		}
		w.awaitProject(w.name, "closed and opened again", func(p *unstructured.Unstructured) bool { return p.GetGeneration() >= generation+2 })
		w.terminate("api")
		if err := <-closed; err != nil {
			t.Fatal(err)
		}
	}
	if n := len(w.windows(w.name)); n != 1 {
		t.Errorf("it has %d windows", n)
	}
}

// What cannot be closed to its end is taken back as a whole.
func TestPartialCloseIsTakenBack(t *testing.T) {
	t.Parallel()
	w := healed(t, healing, "api")
	other := w.name + "-other"
	w.project(other, "")
	w.folder("web", "declared")
	w.push()
	w.app("web", other, healing)
	w.synced("web")
	before := w.spec(w.name) + w.spec(other)
	lost := errors.New("lost")
	for n := range 4 { // two windows and two requests to look
		c, writes := w.claim(time.Hour, "api", "web"), 0
		c.Guard = func(context.Context) error {
			if writes++; writes > n {
				return lost
			}
			return nil
		}
		if err := w.gate().Close(t.Context(), c); err != lost {
			t.Errorf("after %d writes: got %v, want the guard's error as it is", n, err)
		}
		if after := w.spec(w.name) + w.spec(other); after != before {
			t.Errorf("after %d writes: the projects are %s, were %s", n, after, before)
		}
	}
	c, writes := w.claim(time.Hour, "api", "web"), 0
	c.Guard = func(context.Context) error { writes++; return nil }
	w.close(c)
	if writes != 4 {
		t.Errorf("%d writes were guarded, want 4", writes)
	}
}

// A lease of several projects closes each of them, for what it covers there, and
// gives each back. Closing twice is closing once.
func TestSeveralProjects(t *testing.T) {
	t.Parallel()
	w := healed(t, healing, "api", "db")
	other := w.name + "-other"
	w.project(other, "  syncWindows: []\n")
	w.folder("web", "declared")
	w.push()
	w.app("web", other, healing)
	w.synced("web")
	before, otherBefore := w.spec(w.name), w.spec(other)
	c := w.claim(time.Hour, "api", "web")
	w.close(c)
	first := w.windows(w.name)
	mustContain(t, strings.Join(first, " "), `"applications":["`+w.named("api")+`","pharos.dev/lease=`+w.name+`/devbox/1/HOLDER/`)
	mustContain(t, strings.Join(w.windows(other), " "), `"applications":["`+w.named("web")+`","pharos.dev/lease=`)
	w.close(c)
	if again := w.windows(w.name); len(again) != 1 || again[0] != first[0] {
		t.Errorf("closed twice it has %s", again)
	}
	for _, f := range []string{"api", "web", "db"} {
		w.edit(f, "edited")
	}
	w.becomes("db", "declared")
	w.stays("api", "edited")
	w.stays("web", "edited")
	r := w.open(c)
	if len(r.Opened) != 2 {
		t.Errorf("reported %+v", r)
	}
	if w.value("api") != "declared" || w.value("web") != "declared" {
		t.Errorf("they are %s and %s", w.value("api"), w.value("web"))
	}
	// A list that was empty is empty again, and one that was not there is not.
	if w.spec(w.name) != before || w.spec(other) != otherBefore {
		t.Errorf("the projects are %s and %s, were %s and %s", w.spec(w.name), w.spec(other), before, otherBefore)
	}
	if r := w.open(c); len(r.Opened) != 0 {
		t.Errorf("opened twice: %+v", r)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	w := healed(t, healing, "api", "web")
	g := w.gate()
	resolve := func(covers ...string) (string, error) {
		names, err := g.Resolve(t.Context(), covers)
		return strings.Join(names, " "), err
	}
	if got, err := resolve(); err != nil || got != w.named("api")+" "+w.named("web") {
		t.Errorf("all: %s, %v", got, err)
	}
	if got, err := resolve(w.named("web"), w.named("api"), w.named("web")); err != nil || got != w.named("api")+" "+w.named("web") {
		t.Errorf("both: %s, %v", got, err)
	}
	if got, err := resolve(w.named("web")); err != nil || got != w.named("web") {
		t.Errorf("one: %s, %v", got, err)
	}
	invalid := func(says []string, covers ...string) {
		t.Helper()
		_, err := resolve(covers...)
		if !errors.Is(err, lease.ErrInvalid) {
			t.Fatalf("%q: got %v", covers, err)
		}
		mustContain(t, err.Error(), says...)
	}
	invalid([]string{"borrow: Application more, other: not one of the target's, which are " + w.named("api")}, "other", "more", w.named("api"))
	w.covers = append(w.covers, "no*")
	invalid([]string{`"no*"`}, "no*")
	w.covers[2] = w.named("none")
	invalid([]string{w.named("none"), "does not exist"})
	w.covers = w.covers[:2]
	w.patch("web", "spec: {project: "+w.name+"-none}")
	invalid([]string{w.named("web"), "AppProject " + w.name + "-none does not exist"})
	w.covers = nil
	invalid([]string{"no Applications"})
	failed := errors.New("unreachable")
	g = w.gateOf(func(context.Context) ([]string, error) { return nil, failed })
	if _, err := resolve(); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
}

// An Application of an ApplicationSet can be covered, since nothing of it is
// edited that it declares.
func TestApplicationOfASet(t *testing.T) {
	t.Parallel()
	w := healed(t, healing, "api")
	w.create(w.sets, "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: "+w.name+"}\n"+
		"spec: {generators: [], template: {metadata: {name: x}, spec: {project: default, destination: {}}}}\n")
	set, err := w.sets.Get(t.Context(), w.name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.patch("api", fmt.Sprintf("metadata: {ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, name: %s, uid: %s}]}", w.name, set.GetUID()))
	before := string(jsonOf(t, w.get("api").Object["spec"]))
	c := w.claim(time.Hour, "api")
	if _, err := w.gate().Resolve(t.Context(), c.Covers); err != nil {
		t.Fatal(err)
	}
	w.close(c)
	w.edit("api", "edited")
	w.stays("api", "edited")
	w.open(c)
	if after := string(jsonOf(t, w.get("api").Object["spec"])); after != before {
		t.Errorf("its spec is %s, was %s", after, before)
	}
}

// A window is by name alone: it would close an Application of the same name in
// another namespace of the project, too.
func TestSameNameIsRefused(t *testing.T) {
	t.Parallel()
	w := healed(t, healing, "api", "web")
	w.merge(w.projects, w.name, "spec: {sourceNamespaces: ["+w.name+"]}")
	g := w.gate()
	if _, err := g.Resolve(t.Context(), nil); err != nil {
		t.Fatalf("without a second one: %v", err)
	}
	there := w.appsIn(w.name)
	w.create(there, strings.Replace(w.application("api", w.name, manual), fmt.Sprintf("namespace: %q", w.argo.Namespace()), fmt.Sprintf("namespace: %q", w.name), 1))
	_, err := g.Resolve(t.Context(), nil)
	if !errors.Is(err, lease.ErrInvalid) {
		t.Fatalf("got %v", err)
	}
	mustContain(t, err.Error(), "Application "+w.name+"/"+w.named("api"), "same AppProject "+w.name)
	if strings.Contains(err.Error(), w.named("web")) {
		t.Errorf("it names others, too: %v", err)
	}
	if err := g.Close(t.Context(), w.claim(time.Hour, "api")); !errors.Is(err, lease.ErrInvalid) {
		t.Errorf("closed: %v", err)
	}
	if _, err := g.Resolve(t.Context(), []string{w.named("web")}); err != nil {
		t.Errorf("another one: %v", err)
	}
	// In another project it is none of its business.
	w.project(w.name+"-other", "")
	w.merge(there, w.named("api"), "spec: {project: "+w.name+"-other}")
	if _, err := g.Resolve(t.Context(), nil); err != nil {
		t.Errorf("in another project: %v", err)
	}
	// Who may not look is not told that there is none.
	w.config, _ = devtest.User(t, w.argo.Cluster(), w.argo.Namespace(), devtest.Rights{Namespaced: documented(t)})
	_, err = w.gate().Resolve(t.Context(), nil)
	if !errors.Is(err, lease.ErrInvalid) {
		t.Fatalf("got %v", err)
	}
	mustContain(t, err.Error(), "cannot be told", "list applications in all namespaces")
}

func TestClaimsThatAreNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devtest.ArgoCD(t))
	for name, change := range map[string]func(*lease.Claim){
		"covers nothing": func(c *lease.Claim) { c.Covers = nil },
		"a glob":         func(c *lease.Claim) { c.Covers = []string{"*"} },
		"no holder":      func(c *lease.Claim) { c.Holder = "" },
		"no token":       func(c *lease.Claim) { c.Token = 0 },
		"no target":      func(c *lease.Claim) { c.Target = "" },
		"over":           func(c *lease.Claim) { c.Until = c.Now },
		"a year":         func(c *lease.Claim) { c.Until = c.Now.AddDate(1, 0, 0) },
		"half a second":  func(c *lease.Claim) { c.Until = c.Until.Add(time.Second / 2) },
	} {
		c := w.claim(time.Hour, "api")
		change(&c)
		if err := w.gate().Close(t.Context(), c); !errors.Is(err, lease.ErrInvalid) {
			t.Errorf("%s: Close: %v", name, err)
		}
		if err := w.gate().Extend(t.Context(), c); !errors.Is(err, lease.ErrInvalid) {
			t.Errorf("%s: Extend: %v", name, err)
		}
	}
}
