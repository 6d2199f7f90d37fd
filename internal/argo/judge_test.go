package argo_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/internal/argo"
	"sigs.k8s.io/yaml"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

// live is an Application whose commit is live and healthy.
const live = `
metadata: {name: shop, namespace: argocd, uid: u, resourceVersion: "7"}
spec:
  project: default
  source: &source {repoURL: http://git/shop.git, path: shop, targetRevision: ` + commit + `, kustomize: {images: ["api=r/api@sha256:1"], forceCommonLabels: false}}
  destination: {server: https://kubernetes.default.svc, namespace: shop}
status:
  sync: {status: Synced, revision: ` + commit + `, comparedTo: {source: {repoURL: http://git/shop.git, path: shop, targetRevision: ` + commit + `, kustomize: {images: ["api=r/api@sha256:1"]}}}}
  health: {status: Healthy}
  reconciledAt: "2026-01-02T03:04:10Z"
  operationState:
    phase: Succeeded
    startedAt: "2026-01-02T03:04:05Z"
    finishedAt: "2026-01-02T03:04:09Z"
    operation: {sync: {revision: ` + commit + `}, initiatedBy: {automated: true}}
    syncResult: {revision: ` + commit + `, source: *source}
  resources:
  - {group: apps, version: v1, kind: Deployment, namespace: shop, name: api, status: Synced}
  summary: {images: ["r/api@sha256:1"]}
`

var want = argo.Want{Commit: commit, Images: []string{"r/api@sha256:1"}}

// with is the live Application, with something else in it.
func with(t testing.TB, changes ...string) *argo.Application {
	t.Helper()
	var o map[string]any
	if err := yaml.Unmarshal([]byte(live), &o); err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		var change map[string]any
		if err := yaml.Unmarshal([]byte(c), &change); err != nil {
			t.Fatal(err)
		}
		merge(o, change)
	}
	data, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	a, err := argo.ParseApplication(data)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func merge(o, change map[string]any) {
	for k, v := range change {
		inner, ok := v.(map[string]any)
		old, both := o[k].(map[string]any)
		switch {
		case v == nil:
			delete(o, k)
		case ok && both:
			merge(old, inner)
		default:
			o[k] = v
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	failedOp := `status: {operationState: {phase: Failed, message: one or more objects failed to apply, syncResult: {resources: [
		{group: apps, kind: Deployment, namespace: shop, name: web, status: Synced},
		{version: v1, kind: Service, namespace: shop, name: api, status: SyncFailed, syncPhase: Sync, message: port is wrong}]}}}`
	outOfSync := `status: {sync: {status: OutOfSync}, resources: [{kind: Service, namespace: shop, name: api, status: OutOfSync}]}`
	for name, tt := range map[string]struct {
		change []string
		state  argo.State
		need   argo.Need
		fault  argo.Fault
		says   string
	}{
		"live":                           {state: argo.Live},
		"without an operation":           {change: []string{`status: {operationState: null}`}, state: argo.Live},
		"operation of an earlier commit": {change: []string{`status: {operationState: {phase: Failed, syncResult: {revision: abc, source: {targetRevision: abc}}}}`}, state: argo.Live},
		"being deleted":                  {change: []string{`metadata: {deletionTimestamp: "2026-01-02T03:04:05Z"}`}, state: argo.Failed, fault: argo.FaultSpec, says: "deleted"},
		"another revision":               {change: []string{`spec: {source: {targetRevision: main}}`}, state: argo.Foreign, says: `targetRevision is "main"`},
		"other images":                   {change: []string{`spec: {source: {kustomize: {images: []}}}`}, state: argo.Foreign, says: "its source was changed"},
		"not compared":                   {change: []string{`status: {sync: {comparedTo: {source: {kustomize: {images: ["api=r/api@sha256:0"]}}}}}`}, state: argo.Stale, need: argo.NeedRefresh, says: "has not compared"},
		"refresh is asked for":           {change: []string{`metadata: {annotations: {argocd.argoproj.io/refresh: normal}}`}, state: argo.Stale, says: "has not answered"},
		"compared at another":            {change: []string{`status: {sync: {revision: abc}}`}, state: argo.Stale, need: argo.NeedRefresh, says: "another revision"},
		"unknown":                        {change: []string{`status: {sync: {status: Unknown}}`}, state: argo.Stale, need: argo.NeedRefresh},
		"out of sync":                    {change: []string{outOfSync}, state: argo.Waiting, need: argo.NeedSync, says: "Service shop/api differs"},
		"failed":                         {change: []string{outOfSync, failedOp}, state: argo.Failed, fault: argo.FaultSync, says: "phase Sync, Service shop/api: port is wrong"},
		"failed without a result":        {change: []string{outOfSync, `status: {operationState: {phase: Error, message: bad things, syncResult: null}}`}, state: argo.Failed, fault: argo.FaultSync, says: "bad things"},
		"failed though synced":           {change: []string{`status: {operationState: {phase: Failed, syncResult: {resources: [{group: batch, kind: Job, namespace: shop, name: check, hookType: PostSync, hookPhase: Failed, message: Job has failed}]}}}`}, state: argo.Failed, fault: argo.FaultSync, says: "phase PostSync, Job shop/check: Job has failed"},
		"to be pruned":                   {change: []string{`status: {sync: {status: OutOfSync}, resources: [{kind: Service, namespace: shop, name: old, status: OutOfSync, requiresPruning: true}]}`}, state: argo.Live},
		"to be pruned and changed":       {change: []string{`status: {sync: {status: OutOfSync}, resources: [{kind: Service, name: old, status: OutOfSync, requiresPruning: true}, {kind: Service, name: new, status: OutOfSync}]}`}, state: argo.Waiting, need: argo.NeedSync, says: "Service new"},
		"operation set":                  {change: []string{`operation: {sync: {revision: abc}, initiatedBy: {username: ann}}`}, state: argo.Waiting, says: "by ann, of revision abc"},
		"operation runs":                 {change: []string{`status: {operationState: {phase: Running, message: waiting for hook}}`}, state: argo.Waiting, says: "an operation runs: waiting for hook"},
		"operation of others runs":       {change: []string{`status: {operationState: {phase: Running, operation: {initiatedBy: {username: ann, automated: false}}, syncResult: {source: {targetRevision: x}}}}`}, state: argo.Waiting, says: "another operation runs (begun by ann"},
		"refused and tried again":        {change: []string{outOfSync, retried(`Job.batch "migrate" is invalid: spec.template: Invalid value: core.PodTemplateSpec: field is immutable`)}, state: argo.Failed, fault: argo.FaultSync, says: "phase Sync, Job shop/migrate: Job.batch"},
		"not permitted and tried again":  {change: []string{outOfSync, retried("resource :ServiceAccount is not permitted in project pharos-shop")}, state: argo.Failed, fault: argo.FaultSync, says: "not permitted in project pharos-shop"},
		"a webhook is down":              {change: []string{outOfSync, retried("Internal error occurred: failed calling webhook x: connection refused")}, state: argo.Waiting, says: "failed calling webhook x"},
		"parked":                         {change: []string{`status: {operationState: {phase: Running, message: Sync operation blocked by sync window}}`}, state: argo.Blocked, says: "sync window"},
		"not looked since":               {change: []string{`status: {reconciledAt: "2026-01-02T03:04:08Z"}`}, state: argo.Stale, need: argo.NeedRefresh, says: "has not looked since"},
		"progressing":                    {change: []string{`status: {health: {status: Progressing}}`}, state: argo.Waiting, says: "it is Progressing"},
		"degraded":                       {change: []string{`status: {health: {status: Degraded}, resources: [{group: apps, kind: Deployment, namespace: shop, name: api, status: Synced, health: {status: Degraded, message: too long}}]}`}, state: argo.Failed, fault: argo.FaultHealth, says: "Deployment shop/api is Degraded: too long"},
		"old pods":                       {change: []string{`status: {summary: {images: ["r/api@sha256:0"]}}`}, state: argo.Waiting, says: "r/api@sha256:0 runs, and not yet r/api@sha256:1"},
		"no pods":                        {change: []string{`status: {summary: {images: [r/apis@sha256:0]}}`}, state: argo.Live},
		"no commit":                      {change: []string{`status: {conditions: [{type: ComparisonError, message: "unable to resolve 'abc' to a commit SHA"}]}`}, state: argo.Failed, need: argo.NeedRefresh, fault: argo.FaultRepository, says: "does not give Argo CD the commit"},
		"not let in":                     {change: []string{`status: {conditions: [{type: ComparisonError, message: "authentication required: Unauthorized"}]}`}, state: argo.Failed, need: argo.NeedRefresh, fault: argo.FaultRepository, says: "does not let Argo CD in"},
		"server away":                    {change: []string{`status: {conditions: [{type: ComparisonError, message: "dial tcp 127.0.0.1:80: connect: connection refused"}]}`}, state: argo.Stale, need: argo.NeedRefresh, fault: argo.FaultRepository, says: "does not answer"},
		"does not render":                {change: []string{`status: {conditions: [{type: ComparisonError, message: "kustomize build failed exit status 1"}]}`}, state: argo.Failed, need: argo.NeedRefresh, fault: argo.FaultManifests},
		"cluster away":                   {change: []string{`status: {conditions: [{type: ComparisonError, message: "failed to load live state: failed to get cluster info"}]}`}, state: argo.Stale, need: argo.NeedRefresh, fault: argo.FaultCluster},
		"not allowed":                    {change: []string{`status: {conditions: [{type: InvalidSpecError, message: "application repo is not permitted in project"}]}`}, state: argo.Failed, fault: argo.FaultSpec, says: "not permitted"},
		"warned":                         {change: []string{`status: {conditions: [{type: SharedResourceWarning, message: x}]}`}, state: argo.Live},
		"error of before":                {change: []string{`{metadata: {annotations: {argocd.argoproj.io/refresh: hard}}, status: {conditions: [{type: ComparisonError, message: x}]}}`}, state: argo.Stale, says: "has not answered"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := with(t, strings.ReplaceAll(strings.Join(tt.change[:min(1, len(tt.change))], ""), "\t", " "))
			if len(tt.change) > 1 {
				a = with(t, tt.change[0], strings.ReplaceAll(tt.change[1], "\t", " "))
			}
			w := want
			w.Hash = argo.HashSources(with(t).Sources())
			v := argo.Judge(a, w)
			if v.State != tt.state || v.Need != tt.need || v.Fault != tt.fault || !strings.Contains(v.Reason, tt.says) {
				t.Errorf("got %+v", v)
			}
		})
	}
}

// retried is an operation that failed for a Job, and waits to be tried again.
func retried(message string) string {
	return `status: {operationState: {phase: Running, retryCount: 1, message: "one or more synchronization tasks are not valid. Retrying attempt #1", syncResult: {resources: [
		{group: batch, kind: Job, namespace: shop, name: migrate, status: SyncFailed, syncPhase: Sync, message: '` + message + `'}]}}}`
}

// What a sync failed for is named, and whether trying again can help.
func TestFinal(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]bool{
		`resource :ServiceAccount is not permitted in project pharos-shop`:                                                           true,
		`namespace other is not permitted in project 'pharos-shop'`:                                                                  true,
		`Job.batch "migrate" is invalid: spec.template: Invalid value: x: field is immutable`:                                        true,
		`Service "web" is invalid: spec.ports[0].port: Invalid value: 99999: must be between 1 and 65535`:                            true,
		`admission webhook "policy.example" denied the request: no`:                                                                  true,
		`deployments.apps "api" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`:                     true,
		`error when creating "x": Deployment in version "v1" cannot be handled: strict decoding error: unknown field "spec.replica"`: true,
		`Internal error occurred: failed calling webhook "policy.example": dial tcp: connection refused`:                             false,
		`Service "web" is invalid: spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated`:                 false,
		`namespaces "late" not found`: false,
		`The Kubernetes API could not find example.com/Thing for requested resource shop/x. Make sure the "Thing" CRD is installed`: false,
		`pods "x" is forbidden: exceeded quota: small`: false,
		`Job has reached the specified backoff limit`:  false,
		``: false,
	} {
		if got := (argo.Failure{Message: message}).Final(); got != want {
			t.Errorf("%s: %t", message, got)
		}
	}
}

// A message that quotes a whole object is shortened; what is wrong stays.
func TestLongMessage(t *testing.T) {
	t.Parallel()
	v := argo.Judge(with(t, strings.ReplaceAll(retried(`Job.batch is invalid: spec.template: Invalid value: `+strings.Repeat("dump ", 1000)+`: field is immutable`), "\t", " ")), want)
	if len(v.Reason) > 1000 || !strings.Contains(v.Reason, "field is immutable") || len(v.Failures) != 1 || !v.Retrying || v.Retries != 1 {
		t.Errorf("got %+v", v)
	}
}

// Argo CD says of a hook that it requires pruning, whether or not it is declared.
func TestJudgeHooks(t *testing.T) {
	t.Parallel()
	v := argo.Judge(with(t, `status: {resources: [{group: batch, kind: Job, namespace: shop, name: migrate, hook: true, requiresPruning: true, health: {status: Healthy}}]}`), want)
	if v.State != argo.Live || len(v.Orphans) != 0 || len(v.Hooks) != 1 {
		t.Errorf("got %+v", v)
	}
}

// A failed operation that was the last one before a write says nothing of it: the
// controller leaves the difference alone, and an operation is needed.
func TestJudgeOperationBefore(t *testing.T) {
	t.Parallel()
	a := with(t, `status: {sync: {status: OutOfSync}, resources: [{kind: Service, name: api, status: OutOfSync}], operationState: {phase: Failed}}`)
	w := want
	if v := argo.Judge(a, w); v.Fault != argo.FaultSync {
		t.Errorf("got %+v", v)
	}
	w.Before = argo.LastOf(a)
	if v := argo.Judge(a, w); v.State != argo.Waiting || v.Need != argo.NeedSync || len(v.Drifted) != 1 {
		t.Errorf("got %+v", v)
	}
}

// What is declared no more counts in an Application's health; where what is
// declared was found healthy by looking at it, it counts no more.
func TestJudgeLeftovers(t *testing.T) {
	t.Parallel()
	a := with(t, `status: {sync: {status: OutOfSync}, health: {status: Degraded}, resources: [{group: batch, kind: Job, namespace: shop, name: old, status: OutOfSync, requiresPruning: true}]}`)
	if v := argo.Judge(a, want); v.Fault != argo.FaultHealth || !v.Synced || !strings.Contains(v.Reason, "does not declare: Job shop/old") {
		t.Errorf("got %+v", v)
	}
	w := want
	w.Healthy = true
	if v := argo.Judge(a, w); v.State != argo.Live || len(v.Orphans) != 1 {
		t.Errorf("got %+v", v)
	}
	changed := with(t, `status: {sync: {status: OutOfSync}, health: {status: Degraded}, resources: [{kind: Service, name: api, status: OutOfSync}]}`)
	if v := argo.Judge(changed, w); v.State != argo.Waiting {
		t.Errorf("got %+v", v)
	}
}

func TestJudgeNothing(t *testing.T) {
	t.Parallel()
	if v := argo.Judge(nil, want); v.State != argo.Waiting {
		t.Errorf("got %+v", v)
	}
}

func TestJudgeSeveralSources(t *testing.T) {
	t.Parallel()
	sources := `[{repoURL: http://git/shop.git, path: shop, targetRevision: ` + commit + `}, {repoURL: http://git/values.git, targetRevision: main, ref: values}]`
	several := `{spec: {source: null, sources: ` + sources + `}, status: {operationState: null, sync: {revision: null, revisions: [` + commit + `, abc], comparedTo: {source: null, sources: ` + sources + `}}}}`
	if v := argo.Judge(with(t, several), want); v.State != argo.Live {
		t.Errorf("got %+v", v)
	}
	if v := argo.Judge(with(t, several, `status: {sync: {revisions: [abc, `+commit+`]}}`), want); v.State != argo.Stale {
		t.Errorf("got %+v", v)
	}
	if v := argo.Judge(with(t, several, `status: {sync: {revisions: []}}`), want); v.State != argo.Stale {
		t.Errorf("got %+v", v)
	}
}

// Whatever stands in an Application, it is judged, and is live only if it says so
// in every respect.
func FuzzJudge(f *testing.F) {
	for _, change := range []string{`{}`, `status: {sync: {revisions: [a, b]}}`, `operation: {}`, `spec: {sources: [{}, {kustomize: {images: [1, "a=b@c"]}}]}`,
		`status: {operationState: {phase: Running}}`, `metadata: {managedFields: [{manager: x, time: "2026-01-02T03:04:05Z", fieldsV1: {"f:spec": {}}}]}`} {
		data, err := json.Marshal(with(f, change))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := argo.ParseApplication(data)
		if err != nil {
			return
		}
		for _, w := range []argo.Want{{}, want, {Hash: argo.HashSources(a.Sources()), Commit: commit}} {
			v := argo.Judge(a, w)
			if v.State == "" || v.Reason == "" {
				t.Fatalf("no verdict: %+v", v)
			}
			if v.State == argo.Live && (a.Status.Health.Status != "Healthy" || argo.Busy(a) || a.RefreshAsked() || len(v.Drifted) > 0 && a.Status.Sync.Status != "Synced") {
				t.Fatalf("live: %s", data)
			}
		}
		argo.OwnerOf(a)
		argo.LabelParent(a)
		argo.Operator(a)
		_ = a.String()
	})
}
