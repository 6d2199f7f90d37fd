package apply_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/deliver/apply"
	"github.com/pharos-dev/pharos/receipt"
)

// onceJob completes at once on the hollow node.
const onceJob = `
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {pharos.dev/run-once: "true"}}
spec:
  backoffLimit: 0
  template:
    metadata: {labels: {app: migrate}}
    spec:
      restartPolicy: Never
      containers: [{name: migrate, image: registry.invalid/migrate:1}]`

// fleeting is removed as soon as it has ended.
var fleeting = strings.Replace(onceJob, "spec:\n", "spec:\n  ttlSecondsAfterFinished: 0\n", 1)

func (b *bench) jobs(t testing.TB) []string {
	t.Helper()
	list, err := b.admin.BatchV1().Jobs(b.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, j := range list.Items {
		names = append(names, j.Name+" "+string(j.UID))
	}
	return names
}

// uncreated fails the test if a Job is created from now on.
func (b *bench) uncreated(t *testing.T) (check func()) {
	t.Helper()
	audit := devtest.RecordAudit(t, b.cluster)
	return func() {
		t.Helper()
		for _, e := range audit.Events(t, devtest.InNamespace(b.namespace)) {
			if e.Resource == "jobs" && (e.Verb == "create" || e.Code == http.StatusCreated) {
				t.Errorf("%s %s", e.Verb, e.RequestURI)
			}
		}
	}
}

func TestAJobRunsOnceForEachContent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.deliver(t, onceJob)
	if ok, _ := regexp.MatchString(`^migrate-once-[0-9a-f]{10}$`, first[0].Name); !ok {
		t.Errorf("it is named %s", first[0].Name)
	}
	o := b.wait(t, first)
	want(t, "completed", names(o.Completed), names(first)...)
	before := b.jobs(t)

	check := b.uncreated(t)
	again := b.deliver(t, onceJob)
	want(t, "the same Job", names(again), names(first)...)
	want(t, "jobs", b.jobs(t), before...)
	check()

	second := b.deliver(t, strings.Replace(onceJob, "migrate:1", "migrate:2", 1))
	if second[0].Name == first[0].Name {
		t.Error("another content has the same name")
	}
	o = b.wait(t, second)
	want(t, "what completed", names(o.Completed), names(second)...)
	want(t, "orphans", names(o.Orphans))
	if n := len(b.jobs(t)); n != 2 {
		t.Errorf("%d Jobs", n)
	}
}

// A long name is cut so that what is left is one.
func TestAJobThatRunsOnceWithALongName(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, name := range []string{strings.Repeat("x", 39) + ".y", strings.Repeat("x", 39) + "-y", strings.Repeat("x", 38) + ".yz"} {
		objects := b.deliver(t, strings.Replace(onceJob, "name: migrate,", "name: "+name+",", 1))
		if got := objects[0].Name; !strings.HasPrefix(got, strings.Repeat("x", 38)) {
			t.Errorf("%s is named %s", name, got)
		}
	}
}

func TestAJobThatItsTTLRemovedIsNotResurrected(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	objects := b.deliver(t, fleeting+"\n---\n"+configMap)
	o := b.wait(t, objects)
	job := objects[:1]
	want(t, "completed", names(o.Completed), names(job)...)
	b.awaitNoJobs(t)
	seen := o.Seen

	check := b.uncreated(t)
	r := b.request(t, fleeting+"\n---\n"+configMap)
	r.Completed = o.Completed
	result, err := b.Deliver(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "again", lines(result.Changes), "unchanged "+lifecycle.ObjectName(job[0]), "unchanged ConfigMap "+b.namespace+"/settings")
	want(t, "known to have completed", names(result.Completed), names(job)...)
	for _, o := range []lifecycle.Observation{
		b.observe(t, lifecycle.ObserveRequest{Objects: objects, Completed: result.Completed, Seen: seen}),
		b.waitKnowing(t, objects, result.Completed),
	} {
		if !o.Healthy() || len(o.Drifted) > 0 || len(o.Orphans) > 0 {
			t.Errorf("saw %+v", o)
		}
		want(t, "still completed", names(o.Completed), names(job)...)
	}

	// Whoever delivered it was killed before the completion was recorded: the
	// cluster's events still tell.
	r.Completed = nil
	if result, err = b.Deliver(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	want(t, "remembered by the cluster", names(result.Completed), names(job)...)
	if o := b.observe(t, lifecycle.ObserveRequest{Objects: objects}); !o.Healthy() {
		t.Errorf("saw %v", reasons(o.Unready))
	}
	check()
}

func (b *bench) waitKnowing(t *testing.T, objects, completed []receipt.Object) lifecycle.Observation {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	o, err := b.Wait(ctx, lifecycle.ObserveRequest{Target: b.namespace, Objects: objects, Completed: completed})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// awaitNoJobs waits until the cluster has removed what ended.
func (b *bench) awaitNoJobs(t *testing.T) {
	t.Helper()
	jobs := b.admin.BatchV1().Jobs(b.namespace)
	list, err := jobs.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	left := len(list.Items)
	if left == 0 {
		return
	}
	w, err := jobs.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if e.Type == "DELETED" {
			if left--; left == 0 {
				return
			}
		}
	}
	t.Fatal("the watch ended")
}

// A plain Job is none that runs once: it comes again.
func TestAPlainJobComesAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	plain := strings.Replace(fleeting, `annotations: {pharos.dev/run-once: "true"}`, `annotations: {pharos.dev/run-once: "false"}`, 1)
	b.deliver(t, plain)
	b.awaitNoJobs(t)
	result, err := b.Deliver(t.Context(), b.request(t, plain))
	if err != nil {
		t.Fatal(err)
	}
	want(t, "again", lines(result.Changes), "created Job "+b.namespace+"/migrate")
}

// A failed one fails the delivery, with what its pod said last, and so does the
// next delivery of the same; one that is no longer delivered is an orphan.
func TestAFailedJobFailsTheDelivery(t *testing.T) {
	t.Parallel()
	b, proxy := faulty(t, apply.Config{})
	// Pods of the hollow node have no log.
	proxy.Add(faultproxy.Rule{Method: http.MethodGet, Path: regexp.MustCompile(`/log$`), Do: func(_ *faultproxy.Fault, w http.ResponseWriter, r *http.Request) bool {
		if q := r.URL.Query(); q.Get("container") != "migrate" || q.Get("tailLines") == "" || q.Get("limitBytes") == "" {
			t.Errorf("asked for %s", r.URL.RawQuery)
		}
		_, _ = w.Write([]byte("migrating users\nERROR: no such column\n"))
		return false
	}})
	failing := strings.Replace(onceJob, "labels: {app: migrate}", `labels: {app: migrate}, annotations: {hollow.pharos.dev/exit-code: "3"}`, 1)
	objects := b.deliver(t, failing)
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		o, err := b.Wait(ctx, lifecycle.ObserveRequest{Target: b.namespace, Objects: objects})
		var u *lifecycle.UnhealthyError
		if !errors.As(err, &u) || u.Err != nil || len(u.Unready) != 1 || !u.Unready[0].Failed || len(o.Completed) > 0 {
			t.Fatalf("got %v", err)
		}
		mustContain(t, err.Error(), "it failed: BackoffLimitExceeded", "ended with code 3", "its log ends: migrating users ERROR: no such column",
			"kubectl delete jobs.batch "+objects[0].Name+" --namespace "+b.namespace)
		b.deliver(t, failing)
	}
	if n := len(b.jobs(t)); n != 1 {
		t.Errorf("%d Jobs", n)
	}
	good := b.deliver(t, onceJob)
	o := b.wait(t, good)
	want(t, "orphans", names(o.Orphans), names(objects)...)
}

func TestRunOnceIsForJobsAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.Resolve(t.Context(), b.objects(t, strings.Replace(configMap, "name: settings", "name: settings, annotations: {"+keys.RunOnce+`: "true"}`, 1)+
		"\n---\n"+strings.Replace(onceJob, `"true"`, `"yes"`, 1)))
	if !errors.Is(err, lifecycle.ErrSource) {
		t.Errorf("got %v", err)
	}
	mustContain(t, err.Error(), "ConfigMap settings", "is for Jobs alone", "Job migrate", `is "yes"`)
}

func TestLongNamesOfJobsFit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	long := strings.Repeat("migrate-the-database-", 3)[:60]
	indexed := strings.Replace(strings.Replace(onceJob, "name: migrate,", "name: "+long+",", 1), "spec:\n", "spec:\n  completionMode: Indexed\n  completions: 1000\n  parallelism: 0\n", 1)
	objects := b.deliver(t, indexed)
	_, err := b.admin.BatchV1().Jobs(b.namespace).Get(t.Context(), objects[0].Name, metav1.GetOptions{})
	if err != nil || len(objects[0].Name) > 57 || apierrors.IsNotFound(err) {
		t.Errorf("%s: %v", objects[0].Name, err)
	}
}
