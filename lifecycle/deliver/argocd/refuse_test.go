package argocd_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/deliver/argocd"
)

// written is what of the Application others than its controller write. Its
// generation counts what the controller writes too.
func (s *shop) written() string {
	s.t.Helper()
	a := s.app(s.name)
	marks := a.GetAnnotations()
	delete(marks, "argocd.argoproj.io/refresh")
	return string(jsonOf(s.t, map[string]any{"spec": a.Object["spec"], "annotations": marks, "labels": a.GetLabels()}))
}

// refused wants a delivery to be refused as blocked, and nothing to be written.
func (s *shop) refused(says ...string) {
	s.t.Helper()
	c := s.commit(s.single(""))
	before := s.written()
	d, err := s.point(s.t.Context(), c)
	if !errors.Is(err, lifecycle.ErrBlocked) {
		s.t.Fatalf("got %v", err)
	}
	mustContain(s.t, err.Error(), says...)
	if err := s.deliverer().Examine(s.t.Context(), d.request); !errors.Is(err, lifecycle.ErrBlocked) {
		s.t.Errorf("examined: %v", err)
	}
	if after := s.written(); d.guarded.Load() != 0 || after != before {
		s.t.Errorf("something was written: %s is %s", before, after)
	}
}

func TestOwnersAreNamed(t *testing.T) {
	t.Parallel()
	argo := devtest.ArgoCD(t)
	for name, tt := range map[string]struct {
		metadata string
		says     string
	}{
		"parent":       {`annotations: {argocd.argoproj.io/tracking-id: "platform:argoproj.io/Application:argocd/NAME"}`, "Application argocd/platform"},
		"Flux":         {`labels: {kustomize.toolkit.fluxcd.io/name: apps, kustomize.toolkit.fluxcd.io/namespace: flux-system}`, "Kustomization flux-system/apps"},
		"other target": {`labels: {pharos.dev/target: other}`, `the target "other"`},
		"later holder": {`annotations: {pharos.dev/fencing-token: "12"}`, `token is 1`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, argo)
			s.root(manual)
			s.patch(s.name, "somebody", replaceName("metadata: {"+tt.metadata+"}", s.name))
			s.refused(s.name, tt.says)
		})
	}
	t.Run("ApplicationSet", func(t *testing.T) {
		t.Parallel()
		s := newShop(t, argo)
		s.root(manual)
		sets := s.objs.Resource(schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applicationsets"}).Namespace(s.argo.Namespace())
		set, err := sets.Create(t.Context(), s.parse("apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: "+s.name+"}\n"+
			"spec: {generators: [], template: {metadata: {name: x}, spec: {project: default, destination: {}}}}\n"), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = sets.Delete(context.Background(), s.name, metav1.DeleteOptions{}) })
		s.patch(s.name, "somebody", fmt.Sprintf("metadata: {ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, name: %s, uid: %s}]}", s.name, set.GetUID()))
		s.refused("ApplicationSet argocd/"+s.name, "reverted by")
	})
	t.Run("parent by label", func(t *testing.T) {
		t.Parallel()
		s := newShop(t, argo)
		s.root(manual)
		s.create(s.application(s.name+"-parent", "none", s.name, manual))
		s.patch(s.name, "somebody", "metadata: {labels: {app.kubernetes.io/instance: "+s.name+"-parent}}")
		// The parent does not have it among its resources: some tool set the label.
		if _, err := s.point(t.Context(), s.commit(s.single(""))); err != nil {
			t.Fatal(err)
		}
		// The controller may look in between, and takes it away again.
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for {
			s.patch(s.name+"-parent", "argocd", fmt.Sprintf("status: {resources: [{group: argoproj.io, version: v1alpha1, kind: Application, namespace: %s, name: %s}], sync: {status: Unknown}}",
				s.argo.Namespace(), s.name))
			_, err := s.point(ctx, s.commit(s.single("")))
			if errors.Is(err, lifecycle.ErrBlocked) {
				mustContain(t, err.Error(), "Application argocd/"+s.name+"-parent", "by the label")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Run("missing", func(t *testing.T) {
		t.Parallel()
		s := newShop(t, argo)
		_, err := s.point(t.Context(), s.commit(s.single("")))
		if !errors.Is(err, lifecycle.ErrBlocked) {
			t.Fatal(err)
		}
		mustContain(t, err.Error(), "does not exist", "kubectl pharos deploy")
	})
	t.Run("missing side by side", func(t *testing.T) {
		t.Parallel()
		s := newShop(t, argo)
		c := s.commit(s.single(""))
		s.layout.Root, s.layout.Applications = "", []argocd.Part{{Name: s.name, Paths: []string{"root"}}}
		d, err := s.point(t.Context(), c)
		if !errors.Is(err, lifecycle.ErrBlocked) {
			t.Fatal(err)
		}
		mustContain(t, err.Error(), "does not exist", "spec.source: {repoURL: "+s.url+", path: root, targetRevision: "+argocd.NoRevision+"}")
		if again := s.deliverer().Examine(t.Context(), d.request); again == nil || again.Error() != err.Error() {
			t.Errorf("examined: %v", again)
		}
	})
	t.Run("prepared", func(t *testing.T) {
		t.Parallel()
		s := newShop(t, argo)
		d, err := s.point(t.Context(), s.commit(s.single("")))
		if !errors.Is(err, lifecycle.ErrBlocked) {
			t.Fatal(err)
		}
		d.request.DryRun = true
		d.request.Prepared = []lifecycle.Object{{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application", Namespace: argo.Namespace(), Name: s.name}}
		if err := s.deliverer().Examine(t.Context(), d.request); err != nil {
			t.Errorf("what is prepared first is missed: %v", err)
		}
		if res, err := s.deliverer().Deliver(t.Context(), d.request); err != nil || len(res.Changes) != 2 {
			t.Errorf("a dry run did %+v, %v", res, err)
		}
	})
	t.Run("other folder", func(t *testing.T) {
		t.Parallel()
		s := newShop(t, argo)
		s.create(s.application(s.name, "elsewhere", s.name, manual))
		_, err := s.point(t.Context(), s.commit(s.single("")))
		if !errors.Is(err, lifecycle.ErrSource) {
			t.Fatal(err)
		}
		mustContain(t, err.Error(), "elsewhere")
	})
	t.Run("options", func(t *testing.T) {
		t.Parallel()
		s := newShop(t, argo)
		s.root(manual)
		s.patch(s.name, "somebody", "spec: {source: {kustomize: {namePrefix: a-}}}")
		_, err := s.point(t.Context(), s.commit(s.single("")))
		if !errors.Is(err, lifecycle.ErrSource) {
			t.Fatal(err)
		}
		mustContain(t, err.Error(), "kustomize.namePrefix")
	})
}

func replaceName(doc, name string) string { return replaceAll(doc, "NAME", name) }

// project is an AppProject of the test's own.
func (s *shop) project(windows string) {
	s.t.Helper()
	projects := s.objs.Resource(schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "appprojects"}).Namespace(s.argo.Namespace())
	p := s.parse(fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  sourceRepos: ["*"]
  destinations: [{server: "*", namespace: "*"}]
  clusterResourceWhitelist: [{group: "*", kind: "*"}]
  syncWindows: %[3]s
`, s.name, s.argo.Namespace(), windows))
	if _, err := projects.Create(s.t.Context(), p, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = projects.Delete(context.Background(), s.name, metav1.DeleteOptions{}) })
}

// always is a window that is open all day.
const always = `schedule: "0 0 * * *", duration: 24h, timeZone: UTC`

func TestSyncWindows(t *testing.T) {
	t.Parallel()
	argo := devtest.ArgoCD(t)
	t.Run("denied", func(t *testing.T) {
		t.Parallel()
		s := newShop(t, argo)
		s.project(fmt.Sprintf(`[{kind: deny, %s, applications: ["%s*"], manualSync: false}]`, always, s.name[:len(s.name)-1]))
		s.root(automated)
		s.patch(s.name, "somebody", "spec: {project: "+s.name+"}")
		s.refused("sync window", `"0 0 * * *" deny for 24h`, "argocd proj windows list "+s.name)
	})
	t.Run("manual allowed", func(t *testing.T) {
		t.Parallel()
		s := newShop(t, argo)
		s.project(fmt.Sprintf(`[{kind: deny, %s, applications: ["%s"], manualSync: true}]`, always, s.name))
		s.root(automated)
		s.patch(s.name, "somebody", "spec: {project: "+s.name+"}")
		s.deliver(s.commit(s.single("")))
		s.runs("api", ref("api", 1))
	})
	t.Run("opened in the middle", func(t *testing.T) {
		t.Parallel()
		s := newShop(t, argo)
		s.project("[]")
		s.create(s.application(s.child("sentinel"), "none", s.name, manual))
		s.root(manual)
		s.patch(s.name, "somebody", "spec: {project: "+s.name+"}")
		d := s.mustPoint(s.single(""))
		projects := s.objs.Resource(schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "appprojects"}).Namespace(s.argo.Namespace())
		window := fmt.Sprintf(`spec: {syncWindows: [{kind: deny, %s, applications: ["%s*"], manualSync: false}]}`, always, s.name)
		if _, err := projects.Patch(t.Context(), s.name, types.MergePatchType, jsonOf(t, yamlObject(t, window)), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		s.patch(s.child("sentinel"), "somebody", "spec: {project: "+s.name+"}")
		s.parked(s.child("sentinel"), d.request.Commit)
		s.fails(lifecycle.ErrBlocked, d, patience, "waits for the end of a sync window", "argocd proj windows list "+s.name)
		// What it asked for is taken back, so that nothing comes when the window ends.
		app := s.app(s.name)
		if _, set := app.Object["operation"]; set || field(app.Object, "status.operationState.phase") == "Running" {
			t.Errorf("the operation stays: %v", app.Object["operation"])
		}
	})
	t.Run("parked", func(t *testing.T) {
		t.Parallel()
		s := newShop(t, argo)
		s.project(fmt.Sprintf(`[{kind: deny, %s, applications: ["%s"], manualSync: false}]`, always, s.name))
		c := s.commit(s.single(""))
		s.root(manual)
		s.patch(s.name, "somebody", "spec: {project: "+s.name+", source: {targetRevision: "+string(c.ID)+"}}")
		s.parked(s.name, c.ID)
		s.refused("sync window")
	})
}

// parked asks for a sync of an Application until a window parks it: the controller
// learns of projects and of Applications by different watches.
func (s *shop) parked(name string, commit source.ID) {
	s.t.Helper()
	for blocked := false; !blocked; {
		s.patch(name, "somebody", "operation: {initiatedBy: {username: ann}, sync: {revision: "+string(commit)+"}}")
		s.awaitThat(name, "parked or ended its operation", func(o map[string]any) bool {
			blocked = field(o, "status.operationState.message") == "Sync operation blocked by sync window"
			return blocked || o["operation"] == nil
		})
	}
}

// An earlier holder of the lease cannot write after a later one, even if it read
// the Application before.
func TestFencing(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.ArgoCD(t))
	s.root(manual)
	first, second := s.commit(s.single("")), s.commit(map[string]string{"README.md": "two\n"})
	d := s.deliverer()
	rendering := s.render(first)
	resolved, err := d.Resolve(t.Context(), rendering.Objects)
	if err != nil {
		t.Fatal(err)
	}
	// The later holder writes between the guard of the earlier one and its write.
	overtaken := false
	_, err = d.Deliver(t.Context(), lifecycle.DeliverRequest{Objects: rendering.Objects, Resolved: resolved, Target: s.name, Commit: first.ID, Token: 1,
		Guard: func(ctx context.Context) error {
			if overtaken {
				return nil
			}
			overtaken = true
			s.token = 2
			_, err := s.point(ctx, second)
			return err
		}})
	if !errors.Is(err, lifecycle.ErrBlocked) {
		t.Fatalf("got %v", err)
	}
	mustContain(t, err.Error(), "later lease", keys.FencingToken)
	if got := s.revision(s.name); got != string(second.ID) {
		t.Errorf("it is at %s, want the later holder's %s", got, second.ID)
	}
}

// A guard's error is returned as it is, and nothing is written.
func TestGuard(t *testing.T) {
	t.Parallel()
	s := newShop(t, devtest.ArgoCD(t))
	s.root(manual)
	c := s.commit(s.single(""))
	d := s.deliverer()
	rendering := s.render(c)
	resolved, err := d.Resolve(t.Context(), rendering.Objects)
	if err != nil {
		t.Fatal(err)
	}
	lost := errors.New("lost")
	r := lifecycle.DeliverRequest{Objects: rendering.Objects, Resolved: resolved, Target: s.name, Commit: c.ID, Token: 1, Guard: func(context.Context) error { return lost }}
	if _, err := d.Deliver(t.Context(), r); err != lost {
		t.Errorf("got %v", err)
	}
	r.Guard, r.DryRun = nil, true
	res, err := d.Deliver(t.Context(), r)
	if err != nil || len(res.Changes) != 2 || res.Changes[1].Type != lifecycle.ChangeConfigured {
		t.Errorf("a dry run did %+v, %v", res, err)
	}
	if got := s.revision(s.name); got != "main" {
		t.Errorf("it is at %s", got)
	}
}

func (s *shop) revision(name string) string {
	s.t.Helper()
	return field(s.app(name).Object, "spec.source.targetRevision")
}

// await waits until a field of an Application is a text.
func (s *shop) await(name, path, want string) {
	s.t.Helper()
	s.awaitThat(name, path+" "+want, func(o map[string]any) bool { return field(o, path) == want })
}

// awaitThat waits until an Application is as wanted.
func (s *shop) awaitThat(name, what string, is func(map[string]any) bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	w, err := s.apps.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		s.t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if o, ok := e.Object.(*unstructured.Unstructured); ok && is(o.Object) {
			return
		}
	}
	s.t.Fatalf("%s has not %s after %s\n%s", name, what, time.Duration(patience), s.dump())
}
