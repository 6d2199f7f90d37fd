package standard_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/receipt"
)

// A Job that ran once, and that its own TTL removed, is not run again: not by the
// next delivery, nor by one after a failure, nor by a rollback.
func TestJobsRunOnce(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	cfg := c.Config()
	s.write(map[string]string{
		"gitops/kustomization.yaml": "namespace: " + s.namespace + "\nresources: [settings.yaml, migrate.yaml]\n",
		"gitops/migrate.yaml": `apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {pharos.dev/run-once: "true"}}
spec:
  ttlSecondsAfterFinished: 0
  template: {spec: {restartPolicy: Never, containers: [{name: migrate, image: registry.invalid/migrate@sha256:` + strings.Repeat("0", 64) + `}]}}
`,
	})
	_, after, _ := strings.Cut(s.git("show", "HEAD:pharos.yaml"), "delivery: ") // without the images
	s.write(map[string]string{"pharos.yaml": "apiVersion: pharos.dev/v1alpha1\nkind: Catalogue\ndelivery: " + after + "\n"})
	s.commit("Migrate")

	first := s.reconcile(cfg)
	audit := devtest.RecordAudit(t, c)
	jobs := devtest.Client(t, cfg).BatchV1().Jobs(s.namespace)
	for {
		list, err := jobs.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Items) == 0 {
			break
		}
		select {
		case <-t.Context().Done():
			t.Fatal("the Job is never removed")
		case <-time.After(50 * time.Millisecond):
		}
	}
	if again := s.reconcile(cfg); again.Plan.Decision != "unchanged" {
		t.Errorf("when the Job is gone: %s: %s", again.Plan.Decision, strings.Join(again.Plan.Reasons, "; "))
	}
	s.currency("NOK")
	second := s.reconcile(cfg)
	back := s.rollback(cfg, "")
	s.reconcile(cfg)

	for _, e := range audit.Events(t, devtest.InNamespace(s.namespace)) {
		if e.Resource == "jobs" && (e.Verb == "create" || e.Verb == "patch" || e.Code == 201) {
			t.Errorf("%s %s", e.Verb, e.RequestURI)
		}
	}
	store, err := s.receipts(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []receipt.ID{first.Receipt, second.Receipt, back.Receipt} {
		outcomes, err := store.Outcomes(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		var types []receipt.OutcomeType
		for _, o := range outcomes {
			types = append(types, o.Type)
		}
		if want := []receipt.OutcomeType{receipt.OutcomeAttempt, receipt.OutcomeCompleted, receipt.OutcomeLive, receipt.OutcomeSuperseded}; !slices.Equal(types, want) {
			t.Errorf("the outcomes of %s are %v, want %v", id.Short(), types, want)
		}
	}
}
