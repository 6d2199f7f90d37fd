package standard_test

import (
	"errors"
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// TestPharosDeliversPharos reconciles this repository's own HEAD.
func TestPharosDeliversPharos(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	root, err := devenv.ModuleRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	repo, err := source.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	commit, err := repo.Commit(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	targets, err := standard.ReadTargets(t.Context(), commit.Tree)
	if err != nil {
		t.Fatal(err)
	}
	target, err := standard.SelectTarget(targets, "controller")
	if err != nil {
		t.Fatal(err)
	}
	target.Namespace = devtest.Namespace(t, c)
	target.Registry = standard.Registry{Push: devtest.Registry(t) + "/pharos", Pull: target.Registry.Pull, Insecure: true}
	l, err := standard.New(target, standard.Options{REST: c.Config(), Actor: "test@localhost", Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	// The overlay brings its namespace, which a dry run can only foresee.
	foreseen, err := l.Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: commit, DryRun: lifecycle.DryRunServer})
	if errors.Is(err, lifecycle.ErrBlocked) {
		err = nil // it is not prepared yet, and the plan is made all the same
	}
	if err != nil {
		t.Fatal(err)
	}
	res, err := l.Deploy(t.Context(), lifecycle.ReconcileRequest{Commit: commit})
	if err != nil {
		t.Fatal(err)
	}
	if len(foreseen.Changes) != len(res.Changes) || len(res.Changes) == 0 {
		t.Errorf("the dry run foresaw %+v, the delivery did %+v", foreseen.Changes, res.Changes)
	}
	st, err := l.Status(t.Context())
	if err != nil || !st.IsLive() || st.Live.Record.Commit != string(commit.ID) {
		t.Fatalf("status %+v, %v", st, err)
	}
	d, err := devtest.Client(t, c.Config()).AppsV1().Deployments("pharos-controller").Get(t.Context(), "pharos-controller", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	image := st.Live.Record.Images[0]
	if got, want := d.Spec.Template.Spec.Containers[0].Image, image.Repository+"@"+image.Digest; got != want {
		t.Errorf("the controller runs %s, want %s", got, want)
	}
	if again, err := l.Reconcile(t.Context(), lifecycle.ReconcileRequest{Commit: commit}); err != nil || again.Plan.Decision != lifecycle.DecideUnchanged || again.Receipt != res.Receipt {
		t.Errorf("again: %+v, %v", again.Plan, err)
	}
}
