package standard_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

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
		"gitops/migrate.yaml":       migration("0"),
	})
	_, after, _ := strings.Cut(s.git("show", "HEAD:pharos.yaml"), "delivery: ") // without the images
	s.write(map[string]string{"pharos.yaml": "apiVersion: pharos.dev/v1alpha1\nkind: Catalogue\ndelivery: " + after + "\n"})
	s.commit("Migrate")

	first := s.reconcile(cfg)
	audit := devtest.RecordAudit(t, c)
	s.awaitNoJobs(t, cfg)
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

// A Job that ran once is not run again either when its content comes back, as by a
// revert, long after the target forgot that it completed.
func TestJobsThatComeBackDoNotRunAgain(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := newShop(t, c)
	cfg := c.Config()
	const with, without = "resources: [settings.yaml, migrate.yaml]\n", "resources: [settings.yaml]\n"
	_, after, _ := strings.Cut(s.git("show", "HEAD:pharos.yaml"), "delivery: ") // without the images
	s.write(map[string]string{"pharos.yaml": "apiVersion: pharos.dev/v1alpha1\nkind: Catalogue\ndelivery: " + after + "\n"})
	deliver := func(resources, content string) {
		t.Helper()
		s.write(map[string]string{
			"gitops/kustomization.yaml": "namespace: " + s.namespace + "\n" + resources, "gitops/migrate.yaml": migration(content),
		})
		s.commit("Migrate")
		s.reconcile(cfg)
		s.awaitNoJobs(t, cfg)
		// As if the hour were over for which events are kept.
		err := devtest.Client(t, cfg).CoreV1().Events(s.namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	deliver(with, "0")
	deliver(with, "1")
	deliver(without, "1")
	audit := devtest.RecordAudit(t, c)
	deliver(with, "0")
	deliver(with, "1")
	for _, e := range audit.Events(t, devtest.InNamespace(s.namespace)) {
		if e.Resource == "jobs" && (e.Verb == "create" || e.Verb == "patch" || e.Code == 201) {
			t.Errorf("%s %s", e.Verb, e.RequestURI)
		}
	}
}

// migration is a Job that runs once, and is removed as soon as it has.
func migration(content string) string {
	return `apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {pharos.dev/run-once: "true"}}
spec:
  ttlSecondsAfterFinished: 0
  template: {spec: {restartPolicy: Never, containers: [{name: migrate, image: registry.invalid/migrate@sha256:` + strings.Repeat(content, 64) + `}]}}
`
}

// awaitNoJobs waits until all Jobs are removed by their TTL.
func (s *shop) awaitNoJobs(t *testing.T, cfg *rest.Config) {
	t.Helper()
	for {
		list, err := devtest.Client(t, cfg).BatchV1().Jobs(s.namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Items) == 0 {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatal("a Job is never removed")
		case <-time.After(50 * time.Millisecond):
		}
	}
}
