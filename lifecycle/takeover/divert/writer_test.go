package divert_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
)

// A takeover replaces what Git declares and nothing else, rolls out, and leaves nothing
// when it is put back: not in the spec, and not in who owns which field.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	was := b.deliver(original)
	w := b.writer(b.cluster.Config(), nil)
	d := b.plan()
	if err := w.DryRun(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if now := b.live(); spec(t, now) != spec(t, was) {
		t.Error("the dry run has changed it")
	}
	for range 2 { // the second one finds it done
		if err := w.Divert(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	var want, got any = spec(t, was), spec(t, b.live())
	for _, v := range d.Values { // each of its values is there once
		want = strings.Replace(want.(string), string(v.Original), string(v.Agent), 1)
	}
	if got != want {
		t.Errorf("it is\n%s\nwant\n%s", got, want)
	}
	b.rolledOut()
	for n := range 2 {
		r := b.restore(w, d)
		if outcome := []divert.Outcome{divert.OutcomeRestored, divert.OutcomeWhole}[n]; r.Outcome != outcome || len(r.Kept) > 0 {
			t.Errorf("pass %d: %+v", n, r)
		}
		if n == 0 && len(r.Restored) != 7 {
			t.Errorf("restored are %q", r.Restored)
		}
	}
	b.rolledOut()
	b.whole(was)
}

// The same where a client applied it, as kubectl apply and Argo CD do.
func TestThereAndBackOfAClientsApply(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	doc := declared(t, original)
	err := b.admin.AppsV1().RESTClient().Post().Namespace(b.namespace).Resource("deployments").Param("fieldManager", "argocd-controller").
		SetHeader("Content-Type", "application/json").Body(doc).Do(t.Context()).Error()
	if err != nil {
		t.Fatal(err)
	}
	was := b.rolledOut()
	w := b.writer(b.cluster.Config(), nil)
	d := b.plan()
	if err := w.Divert(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	b.restore(w, d)
	if now := b.live(); spec(t, now) != spec(t, was) || !slices.Equal(owners(t, now), owners(t, was)) {
		t.Errorf("it is\n%s\n%q\nand was\n%s\n%q", spec(t, now), owners(t, now), spec(t, was), owners(t, was))
	}
}

// A workload that is gone, or another one of its name, is not touched.
func TestAnotherOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.diverted()
	w := b.writer(b.cluster.Config(), nil)
	if err := b.admin.AppsV1().Deployments(b.namespace).Delete(t.Context(), "api", metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}); err != nil {
		t.Fatal(err)
	}
	if r := b.restore(w, d); r.Outcome != divert.OutcomeGone || r.Reason == "" {
		t.Errorf("got %+v", r)
	}
	if err := w.Divert(t.Context(), d); !errors.Is(err, divert.ErrGone) {
		t.Errorf("got %v", err)
	}
	if err := b.apply(agent); err != nil { // even with the agent's image
		t.Fatal(err)
	}
	was := b.live()
	if r := b.restore(w, d); r.Outcome != divert.OutcomeGone || !strings.Contains(r.Reason, d.UID) {
		t.Errorf("got %+v", r)
	}
	for _, try := range []func(context.Context, divert.Diversion) error{w.Divert, w.DryRun} {
		if err := try(t.Context(), d); !errors.Is(err, divert.ErrGone) {
			t.Errorf("got %v", err)
		}
	}
	if spec(t, b.live()) != spec(t, was) {
		t.Error("it was touched")
	}
}

// A diversion that comes late finds another generation: also after it was put back.
func TestLateDiversion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.diverted()
	w := b.writer(b.cluster.Config(), nil)
	b.restore(w, d)
	was := b.live()
	for _, try := range []func(context.Context, divert.Diversion) error{w.Divert, w.DryRun} {
		if err := try(t.Context(), d); !errors.Is(err, divert.ErrChanged) {
			t.Errorf("got %v", err)
		}
	}
	if spec(t, b.live()) != spec(t, was) {
		t.Error("it was diverted again")
	}
	b.rolledOut()
	if err := w.Divert(t.Context(), b.plan()); err != nil {
		t.Errorf("planned anew: %v", err)
	}
}

// With a target's name only its objects are put back.
func TestAnotherTargets(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.diverted()
	was := b.live()
	prod := b.writer(b.cluster.Config(), func(c *divert.Config) { c.Target = "prod" })
	r, err := prod.Restore(t.Context(), d)
	if !errors.Is(err, divert.ErrNotDelivered) || !strings.Contains(err.Error(), `is "devbox", not "prod"`) || spec(t, b.live()) != spec(t, was) {
		t.Errorf("got %+v, %v", r, err)
	}
	if r := b.restore(b.writer(b.cluster.Config(), func(c *divert.Config) { c.Target = "devbox" }), d); r.Outcome != divert.OutcomeRestored {
		t.Errorf("got %+v", r)
	}
	if r := b.restore(prod, d); r.Outcome != divert.OutcomeWhole {
		t.Errorf("what has no agent is %+v", r)
	}
}

// The guard is asked before each write, and keeps it from being made.
func TestGuard(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deliver(original)
	d := b.plan()
	config, user := devtest.User(t, b.cluster, b.namespace, devtest.Rights{Namespaced: documented})
	audit := devtest.RecordAudit(t, b.cluster)
	lost := errors.New("the lease is lost")
	asked, after := 0, 0
	w := b.writer(config, func(c *divert.Config) {
		c.Guard = func(context.Context) error {
			if asked++; asked > after {
				return lost
			}
			return nil
		}
	})
	if err := w.Divert(t.Context(), d); !errors.Is(err, lost) {
		t.Errorf("got %v", err)
	}
	after = 2
	if err := w.Divert(t.Context(), d); err != nil {
		t.Errorf("got %v", err)
	}
	b.rolledOut()
	asked, after = 0, 1
	if r, err := w.Restore(t.Context(), d); !errors.Is(err, lost) || r.Outcome != divert.OutcomeRestored {
		t.Errorf("got %+v, %v", r, err)
	}
	b.rolledOut() // a write that meets that of a rollout is made again
	asked, after = 0, 1
	if r, err := w.Restore(t.Context(), d); err != nil || r.Outcome != divert.OutcomeWhole || asked != 1 {
		t.Errorf("got %+v, %v", r, err)
	}
	writes := 0
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		if e.Code >= 400 {
			t.Errorf("%s %s: %d", e.Verb, e.RequestURI, e.Code)
		}
		if e.Verb != "get" {
			writes++
		}
	}
	if writes != 3 {
		t.Errorf("it wrote %d times", writes)
	}
}

// documented are the rights that the package comment names.
var documented = []rbacv1.PolicyRule{{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get", "patch"}}}

// Each right is used, and where one is missing the error names it.
func TestRights(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deliver(original)
	d := b.plan()
	for _, verb := range []string{"get", "patch"} {
		less := slices.Clone(documented)
		less[0].Verbs = []string{verb}
		config, _ := devtest.User(t, b.cluster, b.namespace, devtest.Rights{Namespaced: less})
		w := b.writer(config, nil)
		_, err := w.Restore(t.Context(), d)
		if verb == "get" {
			err = w.Divert(t.Context(), d)
		}
		missing := map[string]string{"get": "patch", "patch": "get"}[verb]
		if err == nil || !strings.Contains(err.Error(), "cannot "+missing+" resource \"deployments\"") || !strings.Contains(err.Error(), "What is needed is to get and patch deployments.apps in "+b.namespace) {
			t.Errorf("with %s alone: %v", verb, err)
		}
	}
	config, user := devtest.User(t, b.cluster, b.namespace, devtest.Rights{Namespaced: documented})
	audit := devtest.RecordAudit(t, b.cluster)
	w := b.writer(config, nil)
	if err := errors.Join(w.DryRun(t.Context(), d), w.Divert(t.Context(), d)); err != nil {
		t.Fatal(err)
	}
	b.rolledOut()
	b.restore(w, d)
	done := map[string]int{}
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		switch {
		case e.Code == http.StatusForbidden || e.Resource != "deployments":
			t.Errorf("%s %s: %d", e.Verb, e.RequestURI, e.Code)
		case e.Code < http.StatusBadRequest: // not what met a write of the rollout
			done[e.Verb]++
		}
	}
	if done["patch"] != 4 || done["get"] < 3 || len(done) != 2 {
		t.Errorf("it did %v", done)
	}
}

// Whoever writes right before each of our writes keeps no diversion from being put
// back; and a diversion from being made only if it is not what was planned any more.
func TestOtherWriters(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	was := b.deliver(original)
	n, specs := 0, 0
	write := func(ctx context.Context) error {
		n++
		patch := fmt.Sprintf(`{"metadata":{"labels":{"example.com/n":"%d"}}}`, n)
		if specs > 0 { // which makes another generation
			specs--
			patch = fmt.Sprintf(`{"spec":{"minReadySeconds":%d}}`, n)
		}
		_, err := b.admin.AppsV1().Deployments(b.namespace).Patch(ctx, "api", types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "ann"})
		return err
	}
	w := b.writer(b.cluster.Config(), func(c *divert.Config) { c.Guard = write })
	d := b.plan()
	specs = 1
	if err := w.Divert(t.Context(), d); !errors.Is(err, divert.ErrChanged) {
		t.Errorf("got %v", err)
	}
	b.rolledOut()
	d = b.plan()
	if err := w.Divert(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	specs = 3
	if r := b.restore(w, d); r.Outcome != divert.OutcomeRestored || len(r.Kept) > 0 {
		t.Errorf("got %+v", r)
	}
	for _, o := range owners(t, b.live()) {
		if strings.HasPrefix(o, "pharos.takeover") {
			t.Errorf("left is %s", o)
		}
	}
	b.patch("ann", `[{"op":"remove","path":"/metadata/labels/example.com~1n"},{"op":"remove","path":"/spec/minReadySeconds"}]`)
	if now := b.live(); spec(t, now) != spec(t, was) {
		t.Errorf("it is\n%s\nand was\n%s", spec(t, now), spec(t, was))
	}

	// Somebody who writes another spec each time is told of.
	d = b.diverted()
	specs = 1000
	if _, err := w.Restore(t.Context(), d); !errors.Is(err, divert.ErrChanged) {
		t.Errorf("got %v", err)
	}
}
