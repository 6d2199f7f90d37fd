package standard_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lease/argocd"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// A deploy with an image of the controller installs it, once; and its account can
// give back what a lease left closed, and deliver nothing.
func TestDeployInstallsTheController(t *testing.T) {
	t.Parallel()
	a := devtest.ArgoCD(t)
	c := a.Cluster()
	cfg := c.Config()
	s := newBareShop(t, c)
	url := a.GitURL() + "/" + s.namespace + ".git"
	s.git("push", "-q", url, "HEAD:refs/heads/main")
	s.write(map[string]string{"pharos.yaml": s.git("show", "HEAD:pharos.yaml") + "\n  git: {url: \"" + url + "\"}\n" +
		"  deliver: {argocd: {namespace: " + a.Namespace() + ", root: " + s.namespace + "}}\n"})
	s.commit("Deliver through Argo CD")
	o := s.options(cfg)
	o.ControllerImage = s.registry + "/pharos:v1"
	l, err := standard.New(s.target(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []lifecycle.ChangeType{lifecycle.ChangeCreated, lifecycle.ChangeUnchanged} {
		res, err := l.Deploy(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()})
		if err != nil {
			t.Fatal(err)
		}
		last := res.Steps[len(res.Steps)-1]
		if last.Name != "controller" || len(last.Changes) != 10 {
			t.Errorf("the last step is %+v", last)
		}
		for _, change := range last.Changes {
			if change.Type != want {
				t.Errorf("%s %s, want %s", change.Type, lifecycle.ObjectName(change.Object), want)
			}
		}
	}
	account := "pharos-" + s.namespace + "-controller"
	d, err := devtest.Client(t, cfg).AppsV1().Deployments(s.namespace).Get(t.Context(), account, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := d.Spec.Template.Spec
	if pod.ServiceAccountName != account || !slices.Contains(pod.Containers[0].Args, "--argocd-namespace="+a.Namespace()) {
		t.Errorf("the pod is %+v", pod)
	}

	held := s.borrow(cfg)
	s.edit(cfg, "USD")
	alone, err := lease.New(lease.Config{REST: cfg, Namespace: s.namespace, Target: s.namespace})
	if err != nil {
		t.Fatal(err)
	}
	// Killed before the gate was opened.
	if _, err := alone.Break(t.Context(), lease.BreakRequest{User: "bob@desk", Reason: "it is needed", Holder: held.Holder()}); err != nil {
		t.Fatal(err)
	}
	config := tokenOf(t, c, s.namespace, account)
	gate, err := argocd.New(argocd.Config{REST: config, Namespace: a.Namespace(), Applications: func(context.Context) ([]string, error) { return nil, nil }})
	if err != nil {
		t.Fatal(err)
	}
	m, err := lease.New(lease.Config{REST: config, Namespace: s.namespace, Target: s.namespace, Gate: gate})
	if err != nil {
		t.Fatal(err)
	}
	audit := devtest.RecordAudit(t, c)
	if _, r, err := m.Sweep(t.Context()); err != nil || len(r.Opened) != 1 || len(r.Pending) != 0 {
		t.Errorf("swept %+v, %v", r, err)
	}
	s.sells(cfg, "EUR")
	if e := audit.Events(t, devtest.ByUser("system:serviceaccount:"+s.namespace+":"+account)); len(e) == 0 {
		t.Error("nothing was done as the account")
	}
	if _, err := s.lifecycle(config).Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()}); err == nil {
		t.Error("the account of the controller delivers")
	}
}

// A deploy without an image keeps the controller that is installed, with what is
// delivered now; and installs none.
func TestDeployKeepsTheController(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newBareShop(t, c)
	l := s.lifecycle(c.Config())
	step := func() *lifecycle.PrepareStep {
		t.Helper()
		steps, err := l.Steps(t.Context(), lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()})
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(steps, func(p lifecycle.PrepareStep) bool { return p.Name == "controller" }); i >= 0 {
			return &steps[i]
		}
		return nil
	}
	if got := step(); got != nil {
		t.Errorf("it would install %+v", got)
	}
	labels := map[string]string{"app": "controller"}
	installed := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "pharos-" + s.namespace + "-controller"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "controller", Image: "registry.invalid/pharos:v1"}}}}}}
	if _, err := devtest.Client(t, c.Config()).AppsV1().Deployments(s.namespace).Create(t.Context(), installed, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	got := step()
	if got == nil {
		t.Fatal("the controller that is there is not kept")
	}
	last := got.Apply[len(got.Apply)-1]
	if last.Kind != "Deployment" || last.Name != installed.Name || !strings.Contains(string(last.JSON), `"image":"registry.invalid/pharos:v1"`) {
		t.Errorf("it would write %s", last.JSON)
	}
}
