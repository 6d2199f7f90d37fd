package inventory_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
	"github.com/pharos-dev/pharos/reaper/inventory"
)

const claim = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: NS, annotations: {note: mine}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}`

func (b *bench) claim() reaper.Ref {
	return reaper.Ref{Version: "v1", Resource: "persistentvolumeclaims", Kind: "PersistentVolumeClaim", Namespace: b.namespace, Name: "data"}
}

func newInventory(t *testing.T, as *rest.Config) *inventory.Inventory {
	t.Helper()
	i, err := inventory.New(inventory.Config{REST: as})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func (b *bench) annotations(t *testing.T) map[string]string {
	t.Helper()
	c, err := devtest.Client(t, b.cluster.Config()).CoreV1().PersistentVolumeClaims(b.namespace).Get(t.Context(), "data", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c.Annotations
}

func TestOwn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.create(t, claim)
	config, _ := devtest.User(t, b.cluster, b.namespace, devtest.Rights{Namespaced: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"persistentvolumeclaims"}, Verbs: []string{"get", "patch"}},
	}})
	i := newInventory(t, config)
	for _, step := range []struct {
		owner         string
		how           inventory.Ownership
		before, after string
		err           error
	}{
		{owner: "ann", how: inventory.Ownership{DryRun: true}},
		{owner: "ann", after: "ann"},
		{owner: "ann", before: "ann", after: "ann"},
		{owner: "bob", before: "ann", after: "ann", err: inventory.ErrOwned},
		{owner: "bob", how: inventory.Ownership{Overwrite: true, DryRun: true}, before: "ann", after: "ann"},
		{owner: "bob", how: inventory.Ownership{Overwrite: true}, before: "ann", after: "bob"},
		{owner: "Zoë, the data team", how: inventory.Ownership{Overwrite: true}, before: "bob", after: "Zoë, the data team"},
		{owner: "", after: "Zoë, the data team", err: inventory.ErrOwner},
		{owner: " ann", after: "Zoë, the data team", err: inventory.ErrOwner},
		{owner: "ann\nbob", after: "Zoë, the data team", err: inventory.ErrOwner},
		{owner: "a\x1b[2Jb", after: "Zoë, the data team", err: inventory.ErrOwner},
		{owner: "a\xff", after: "Zoë, the data team", err: inventory.ErrOwner},
		{owner: strings.Repeat("x", 254), after: "Zoë, the data team", err: inventory.ErrOwner},
	} {
		before, err := i.Own(t.Context(), b.claim(), step.owner, step.how)
		if before != step.before || !errors.Is(err, step.err) || (err == nil) != (step.err == nil) {
			t.Errorf("%q: before %q, %v", step.owner, before, err)
		}
		if is := b.annotations(t); is[keys.Owner] != step.after || is["note"] != "mine" {
			t.Errorf("%q: the annotations are %v", step.owner, is)
		}
	}
	none := b.claim()
	none.Name = "none"
	if _, err := i.Own(t.Context(), none, "ann", inventory.Ownership{}); !errors.Is(err, reaper.ErrGone) {
		t.Errorf("what is not there: %v", err)
	}
	other := b.claim()
	other.UID = "another"
	if _, err := i.Own(t.Context(), other, "ann", inventory.Ownership{Overwrite: true}); !errors.Is(err, reaper.ErrGone) {
		t.Errorf("with another UID: %v", err)
	}
	nobody, _ := devtest.User(t, b.cluster, b.namespace, devtest.Rights{})
	if _, err := newInventory(t, nobody).Own(t.Context(), b.claim(), "ann", inventory.Ownership{}); err == nil || !strings.Contains(err.Error(), "get and patch") {
		t.Errorf("without rights: %v", err)
	}
}

// A name is no path: it does not lead to another object.
func TestNamesAreNoPaths(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.create(t, claim)
	config, requests := devtest.Count(b.cluster.Config())
	i := newInventory(t, config)
	for _, named := range [][2]string{
		{b.namespace, ".."}, {b.namespace, ""}, {b.namespace, "../persistentvolumeclaims/data"}, {b.namespace, "data%2f"}, {"..", "data"}, {"x/../" + b.namespace, "data"},
	} {
		r := b.claim()
		r.Namespace, r.Name = named[0], named[1]
		if _, err := i.Own(t.Context(), r, "ann", inventory.Ownership{}); err == nil {
			t.Errorf("Own took %q", named)
		}
	}
	if _, err := i.Take(t.Context(), inventory.Request{Namespaces: []string{b.namespace, "../" + b.namespace}}); err == nil {
		t.Error("Take took a path")
	}
	if got := requests.Requests(); len(got) > 0 {
		t.Errorf("it made %+v", got)
	}
	if is := b.annotations(t)[keys.Owner]; is != "" {
		t.Errorf("the owner is %q", is)
	}
	ns, err := devtest.Client(t, b.cluster.Config()).CoreV1().Namespaces().Get(t.Context(), b.namespace, metav1.GetOptions{})
	if err != nil || ns.Annotations[keys.Owner] != "" {
		t.Errorf("the namespace is of %q, %v", ns.Annotations[keys.Owner], err)
	}
}

// What somebody writes in between is not overwritten, and what is made anew under the
// name is judged as what it is then.
func TestOwnRaces(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		meanwhile func(t *testing.T, b *bench)
		uid       bool // the caller knows which one is meant
		owner     string
		err       error
	}{
		"another owner": {meanwhile: func(t *testing.T, b *bench) { b.annotate(t, `{"`+keys.Owner+`":"eve"}`) }, owner: "eve", err: inventory.ErrOwned},
		"another edit":  {meanwhile: func(t *testing.T, b *bench) { b.annotate(t, `{"note":"more"}`) }, owner: "ann"},
		"made anew, and which one is known": {uid: true, meanwhile: func(t *testing.T, b *bench) {
			b.remove(t)
			b.create(t, claim)
		}, err: reaper.ErrGone},
		"made anew": {meanwhile: func(t *testing.T, b *bench) {
			b.remove(t)
			b.create(t, strings.Replace(claim, "note: mine", keys.Owner+": eve", 1))
		}, owner: "eve", err: inventory.ErrOwned},
		"deleted": {meanwhile: func(t *testing.T, b *bench) { b.remove(t) }, err: reaper.ErrGone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			made := b.create(t, claim)
			config, fault := faulty(t, b.cluster.Config(), faultproxy.Rule{Method: http.MethodPatch, Times: 1, Do: faultproxy.Stall()})
			ref := b.claim()
			if tt.uid {
				ref.UID = string(made[0].GetUID())
			}
			done := make(chan error, 1)
			i := newInventory(t, config)
			go func() { _, err := i.Own(t.Context(), ref, "ann", inventory.Ownership{}); done <- err }()
			<-fault.Reached()
			tt.meanwhile(t, b)
			fault.Release()
			if err := <-done; !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
				t.Errorf("it ended with %v, want %v", err, tt.err)
			}
			if name != "deleted" {
				if is := b.annotations(t)[keys.Owner]; is != tt.owner {
					t.Errorf("the owner is %q, want %q", is, tt.owner)
				}
			}
		})
	}
}

func (b *bench) annotate(t *testing.T, annotations string) {
	t.Helper()
	_, err := devtest.Client(t, b.cluster.Config()).CoreV1().PersistentVolumeClaims(b.namespace).Patch(t.Context(), "data", types.MergePatchType,
		[]byte(strings.ReplaceAll(`{"metadata":{"annotations":A}}`, "A", annotations)), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// remove deletes the claim, and whatever would keep it.
func (b *bench) remove(t *testing.T) {
	t.Helper()
	claims := devtest.Client(t, b.cluster.Config()).CoreV1().PersistentVolumeClaims(b.namespace)
	if err := claims.Delete(t.Context(), "data", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := claims.Patch(t.Context(), "data", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil && !strings.Contains(err.Error(), "not found") {
		t.Fatal(err)
	}
}
