package inventory_test

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/reaper/inventory"
)

const parkedDeployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: api
  namespace: NS
  labels: {pharos.dev/target: devbox}
  annotations:
    pharos.dev/parked: 5 restarts did not help
    pharos.dev/restart-budget: '{"version":1,"restarts":5,"parked":{"reason":"5 restarts did not help","since":"2026-03-04T05:06:07Z"}}'
spec:
  replicas: 0
  selector: {matchLabels: {app: x}}
  template: {metadata: {labels: {app: x}}, spec: {containers: [{name: x, image: registry.invalid/x}]}}`

// A workload that is parked is a finding, declared or not, and a ReplicaSet that bears
// the annotation as well is none.
func TestParked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.create(t, parkedDeployment+`
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: copy, namespace: NS, annotations: {pharos.dev/parked: copied}}
spec:
  replicas: 0
  selector: {matchLabels: {app: copy}}
  template: {metadata: {labels: {app: copy}}, spec: {containers: [{name: copy, image: registry.invalid/copy}]}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: log, namespace: NS, annotations: {pharos.dev/parked: ada looks at it}}
spec:
  selector: {matchLabels: {app: log}}
  template: {metadata: {labels: {app: log}}, spec: {nodeSelector: {none: such}, containers: [{name: log, image: registry.invalid/log}]}}`)
	declared := &inventory.Declaration{Objects: []inventory.DeclaredObject{{Ref: inventory.Ref{Group: "apps", Kind: "Deployment", Namespace: b.namespace, Name: "api"}}}}
	r := take(t, b.cluster.Config(), inventory.Config{Target: "devbox"}, inventory.Request{Namespaces: []string{b.namespace}, Declared: declared})
	want(t, "findings", b.lines(r), "Parked DaemonSet NS/log", "Parked Deployment NS/api")
	for _, message := range []string{
		"it is parked since 2026-03-04T05:06:07Z: 5 restarts did not help. Once it is mended: kubectl annotate deployments.apps/api --namespace " + b.namespace + " pharos.dev/parked-",
		"it is parked by hand: ada looks at it. Once",
	} {
		if !strings.Contains(r.Findings[0].Message+r.Findings[1].Message, message) {
			t.Errorf("no %q in %+v", message, r.Findings)
		}
	}

	// Who may only read it by its name sees that, too.
	user, _ := devtest.User(t, b.cluster, b.namespace, devtest.Rights{Namespaced: []rbacv1.PolicyRule{{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get"}}}})
	r = take(t, user, inventory.Config{Target: "devbox"}, inventory.Request{Namespaces: []string{b.namespace}, Declared: declared})
	want(t, "findings by name", b.lines(r), "Parked Deployment NS/api")
}
