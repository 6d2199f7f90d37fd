package workload_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/objectjson"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/deliver/apply"
	"github.com/pharos-dev/pharos/lifecycle/supervise"
)

var (
	deployments = regexp.MustCompile(`/deployments/`)
	pods        = regexp.MustCompile(`/pods`)
	replicaSets = regexp.MustCompile(`/replicasets`)
)

// What the server cannot answer is not a failure of the workload, and what was not
// stored is not done. What may have been stored counts.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rule faultproxy.Rule
		// counted is whether the restart is stored, done whether the pod was deleted.
		counted, done bool
		err           string
	}{
		"the state cannot be read":     {rule: faultproxy.Rule{Method: http.MethodGet, Path: deployments, Do: faultproxy.Answer(500)}, err: "read Deployment"},
		"the workload cannot be read":  {rule: faultproxy.Rule{Method: http.MethodGet, Path: deployments, Skip: 1, Do: faultproxy.Answer(500)}, err: "check: read Deployment"},
		"ReplicaSets cannot be listed": {rule: faultproxy.Rule{Path: replicaSets, Do: faultproxy.Answer(500)}, err: "list the replicasets of Deployment"},
		"pods cannot be listed":        {rule: faultproxy.Rule{Method: http.MethodGet, Path: pods, Do: faultproxy.Answer(500)}, err: "list the pods of Deployment"},
		"somebody else wrote once":     {rule: faultproxy.Rule{Method: http.MethodPatch, Times: 1, Do: faultproxy.Answer(409)}, counted: true, done: true},
		"somebody else always writes":  {rule: faultproxy.Rule{Method: http.MethodPatch, Do: faultproxy.Answer(409)}, err: "somebody else has written meanwhile"},
		"the write fails":              {rule: faultproxy.Rule{Method: http.MethodPatch, Do: faultproxy.Answer(500)}, err: "write the restart budget of Deployment"},
		"the write is done, and the answer lost": {rule: faultproxy.Rule{Method: http.MethodPatch, AfterUpstream: true, Times: 1, Do: faultproxy.Cut()},
			counted: true, err: "write the restart budget of Deployment"},
		"the pod changes once":   {rule: faultproxy.Rule{Method: http.MethodDelete, Times: 1, Do: faultproxy.Answer(409)}, counted: true, done: true},
		"the pod always changes": {rule: faultproxy.Rule{Method: http.MethodDelete, Do: faultproxy.Answer(409)}, counted: true, err: "1 of them keep changing"},
		"the pod is gone":        {rule: faultproxy.Rule{Method: http.MethodDelete, Do: faultproxy.Answer(404)}, counted: true},
		"the pod cannot be deleted": {rule: faultproxy.Rule{Method: http.MethodDelete, Do: faultproxy.Answer(500)},
			counted: true, err: "restart 1: delete pod api-"},
		"the pod is deleted, and the answer lost": {rule: faultproxy.Rule{Method: http.MethodDelete, AfterUpstream: true, Times: 1, Do: faultproxy.Cut()},
			counted: true, done: true, err: "restart 1: delete pod api-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.deployment("api", 1, crash)
			was := b.pods("api", 1, settled(crash))[0]
			proxy, err := faultproxy.ForCluster(b.cluster.Config())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(proxy.Close)
			fault := proxy.Add(tt.rule)
			_, err = b.supervisor(b.workload(proxy.Config(b.cluster.Config()), "api", nil), supervise.Policy{Failures: 1, Pause: -1}).Step(t.Context())
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("got %v, want %q", err, tt.err)
			}
			if fault.Hits() == 0 {
				t.Error("the fault was never met")
			}
			_, budget := b.marks("api")
			if counted := strings.Contains(budget, `"restarts":1`); counted != tt.counted || !counted && budget != "" {
				t.Errorf("stored is %q", budget)
			}
			now, err := b.admin.CoreV1().Pods(b.namespace).Get(t.Context(), was.Name, metav1.GetOptions{})
			if gone := err != nil || now.DeletionTimestamp != nil; gone != tt.done {
				t.Errorf("the pod is deleted: %t, %v", gone, err)
			}
		})
	}
}

// One pod that cannot be deleted keeps none of the others, and the error names it.
func TestOnePodCannotBeDeleted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deployment("api", 3, crash)
	three := b.pods("api", 3, settled(crash))
	proxy, err := faultproxy.ForCluster(b.cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	stays := three[1].Name
	proxy.Add(faultproxy.Rule{Method: http.MethodDelete, Path: regexp.MustCompile("/pods/" + stays + "$"), Do: faultproxy.Answer(500)})
	err = b.workload(proxy.Config(b.cluster.Config()), "api", nil).Restart(t.Context())
	if err == nil || strings.Count(err.Error(), "delete pod ") != 1 || !strings.Contains(err.Error(), "delete pod "+stays+" of Deployment") {
		t.Errorf("got %v", err)
	}
	stayed := 0
	for _, p := range b.pods("api", 3, settled(crash)) {
		for _, was := range three {
			if p.UID == was.UID {
				stayed++
			}
		}
	}
	if stayed != 1 {
		t.Errorf("%d pods are the same", stayed)
	}
}

// A pod that became ready between the look and the deletion is not deleted.
func TestPodThatBecomesReadyIsKept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deployment("api", 1, crash)
	was := b.pods("api", 1, settled(crash))[0]
	proxy, err := faultproxy.ForCluster(b.cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	stall := proxy.Add(faultproxy.Rule{Method: http.MethodDelete, Path: pods, Times: 1, Do: faultproxy.Stall()})
	config, user := devtest.User(t, b.cluster, b.namespace, devtest.Rights{Namespaced: documented})
	audit := devtest.RecordAudit(t, b.cluster)
	done := make(chan error, 1)
	go func() { done <- b.workload(proxy.Config(config), "api", nil).Restart(t.Context()) }()
	<-stall.Reached()
	delete(was.Annotations, waiting)
	if _, err := b.admin.CoreV1().Pods(b.namespace).Update(t.Context(), &was, metav1.UpdateOptions{}); err != nil {
		t.Error(err)
	}
	b.pods("api", 1, ready)
	stall.Release()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if now := b.pods("api", 1, ready)[0]; now.UID != was.UID || len(b.deleted(audit, user)) != 0 {
		t.Errorf("it was replaced by %s", now.Name)
	}
}

// Several supervisors, and somebody who writes to the workload at each of their steps:
// the budget is that of one.
func TestManyWriters(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deployment("api", 1, crash)
	config, user := devtest.User(t, b.cluster, b.namespace, devtest.Rights{Namespaced: documented})
	audit := devtest.RecordAudit(t, b.cluster)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	steps := make(chan struct{})
	all.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-steps:
			case <-ctx.Done():
				return
			}
			_, err := b.admin.AppsV1().Deployments(b.namespace).Patch(ctx, "api", "application/merge-patch+json",
				fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/n":"%d"}}}`, n), metav1.PatchOptions{})
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	})
	var mu sync.Mutex
	restarts, parked := 0, 0
	for range 4 {
		w := b.workload(config, "api", nil)
		all.Go(func() {
			s, err := supervise.New(supervise.Config{Thing: w, Store: w, Policy: hasty})
			if err != nil {
				t.Error(err)
				return
			}
			for ctx.Err() == nil {
				if _, err := awaitPods(ctx, b.admin, b.namespace, "api", 1, settled(crash)); err != nil {
					if ctx.Err() == nil {
						t.Error(err)
					}
					return
				}
				select {
				case steps <- struct{}{}:
				case <-ctx.Done():
				}
				r, err := s.Step(ctx)
				if err != nil && ctx.Err() == nil && !is(err, supervise.ErrConflict) {
					t.Error(err)
				}
				mu.Lock()
				switch {
				case err == nil && r.Action == supervise.Restart:
					restarts++
				case r.Action == supervise.Park:
					parked++
				}
				mu.Unlock()
				if r.State.IsParked() {
					stop()
				}
			}
		})
	}
	all.Wait()
	s, _, err := b.workload(b.cluster.Config(), "api", nil).Load(t.Context())
	if err != nil || s.Restarts != 5 || !s.IsParked() || parked != 1 || restarts > 5 {
		t.Errorf("%d restarts, parked %d times: %+v, %v", restarts, parked, s, err)
	}
	if pods := b.deleted(audit, user); len(pods) > 5 || len(pods) == 0 {
		t.Errorf("deleted %q", pods)
	}
}

// Neither restarts nor parking are drift, and a delivery leaves the annotations.
func TestIsNoDrift(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d, err := apply.New(apply.Config{RESTConfig: b.cluster.Config(), DefaultNamespace: b.namespace})
	if err != nil {
		t.Fatal(err)
	}
	declared := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: "api", Namespace: b.namespace, Labels: map[string]string{keys.Target: b.namespace}, Annotations: map[string]string{"team": "shop"}},
		Spec:       appsv1.DeploymentSpec{Selector: selector("api"), Template: template("api", crash)}}
	r := b.request(d, declared)
	if _, err := d.Deliver(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	b.pods("api", 1, settled(crash))
	b.park(b.supervisor(b.workload(b.cluster.Config(), "api", nil), supervise.Policy{Restarts: 1, Pause: -1}), "api", 1)
	o, err := d.Observe(t.Context(), lifecycle.ObserveRequest{Target: b.namespace, Objects: r.Resolved})
	if err != nil || len(o.Seen) != 1 || len(o.Drifted) != 0 {
		t.Errorf("seen %+v, drifted %+v, %v", o.Seen, o.Drifted, err)
	}
	before := b.get("api")
	changed, err := d.Deliver(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if now := b.get("api"); now.Annotations[keys.Parked] == "" || now.Annotations[keys.RestartBudget] != before.Annotations[keys.RestartBudget] {
		t.Errorf("a delivery (%+v) left %q", changed, now.Annotations)
	}
}

// request is what delivers one object.
func (b *bench) request(d *apply.Deliverer, o runtime.Object) lifecycle.DeliverRequest {
	b.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		b.Fatal(err)
	}
	delete(content, "status")
	data, err := objectjson.Encode(content)
	if err != nil {
		b.Fatal(err)
	}
	objects := []lifecycle.Object{{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: b.namespace, Name: "api", JSON: data}}
	resolved, err := d.Resolve(b.Context(), objects)
	if err != nil {
		b.Fatal(err)
	}
	return lifecycle.DeliverRequest{Objects: objects, Resolved: resolved, Target: b.namespace, Guard: func(context.Context) error { return nil }}
}
