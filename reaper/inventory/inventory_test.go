package inventory_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/pharos-dev/pharos/reaper/inventory"
)

// crd defines Databases of the namespace's own group.
const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: databases.NS.pharos.test}
spec:
  group: NS.pharos.test
  scope: Namespaced
  names: {kind: Database, plural: databases}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}`

// mixed is some of everything.
const mixed = `apiVersion: v1
kind: ConfigMap
metadata: {name: declared, namespace: NS, labels: {pharos.dev/target: devbox}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: unlabelled, namespace: NS}
---
apiVersion: v1
kind: Secret
metadata: {name: token, namespace: NS, labels: {pharos.dev/target: devbox}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: orphan, namespace: NS, labels: {pharos.dev/target: devbox}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kept, namespace: NS, labels: {pharos.dev/target: devbox}, annotations: {pharos.dev/owner: ann}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: waits, namespace: NS, labels: {pharos.dev/intent: transient}, annotations: {pharos.dev/ttl: 1h}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: late, namespace: NS, labels: {pharos.dev/intent: transient}, annotations: {pharos.dev/expires-at: "2026-01-02T03:04:05Z"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: wrong, namespace: NS, labels: {pharos.dev/intent: transient}, annotations: {pharos.dev/ttl: -7d}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: brief, namespace: NS, labels: {pharos.dev/intent: transient}, annotations: {pharos.dev/ttl: 1h}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: NS}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: tagged, namespace: NS, annotations: {pharos.dev/owner: ann@example.org}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-db-7, namespace: NS}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 3Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: helms, namespace: NS, annotations: {meta.helm.sh/release-name: db}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 4Gi}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: NS, annotations: {pharos.dev/owner: data-team}}
spec:
  replicas: 0
  serviceName: db
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db, image: registry.invalid/db}]}}
  volumeClaimTemplates:
  - {metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 3Gi}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: by-hand, namespace: NS}
spec:
  replicas: 0
  selector: {matchLabels: {app: x}}
  template: {metadata: {labels: {app: x}}, spec: {containers: [{name: x, image: registry.invalid/x}]}}
---
apiVersion: NS.pharos.test/v1
kind: Database
metadata: {name: orders, namespace: NS}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: released-NS}
spec:
  capacity: {storage: 5Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  hostPath: {path: /none}
  claimRef: {apiVersion: v1, kind: PersistentVolumeClaim, namespace: NS, name: gone, uid: 0c8d6c3e-0000-4000-8000-000000000000}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: free-NS}
spec:
  capacity: {storage: 6Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  storageClassName: none
  hostPath: {path: /none}`

func (b *bench) mixed(t *testing.T) *inventory.Declaration {
	t.Helper()
	b.create(t, crd)
	made := b.create(t, mixed)
	for _, u := range made {
		if u.GetName() == "released-"+b.namespace {
			b.awaitPhase(t, u, "Released")
		}
	}
	object := func(group, kind, name string) inventory.DeclaredObject {
		return inventory.DeclaredObject{Ref: inventory.Ref{Group: group, Kind: kind, Namespace: b.namespace, Name: name}}
	}
	drifted, ran := object("", "ConfigMap", "declared"), object("batch", "Job", "ran")
	drifted.Drift, ran.MayBeGone = ".data.x was changed", true
	return &inventory.Declaration{Of: "receipt 3f2a9c", Objects: []inventory.DeclaredObject{
		drifted, object("", "ConfigMap", "unlabelled"), object("", "Secret", "token"), object("apps", "Deployment", "gone"), ran,
		object("never.example", "Thing", "served"),
	}}
}

// awaitPhase waits until a controller has said what a volume is.
func (b *bench) awaitPhase(t *testing.T, u *unstructured.Unstructured, phase string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		now, err := b.of(u).Get(ctx, u.GetName(), metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		is, _, err := unstructured.NestedString(now.Object, "status", "phase")
		return is == phase, err
	})
	if err != nil {
		t.Fatalf("wait for %s to be %s: %v", u.GetName(), phase, err)
	}
}

// Everything is in one of the buckets, and nothing that is to end is a difference.
func TestBuckets(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	declared := b.mixed(t)
	r := take(t, b.cluster.Config(), inventory.Config{Target: "devbox"}, inventory.Request{Namespaces: []string{b.namespace}, Declared: declared})
	want(t, "findings", b.lines(r),
		"Missing Deployment NS/gone",
		"Missing Thing NS/served",
		"Drifted ConfigMap NS/declared",
		"Refused ConfigMap NS/wrong",
		"Overdue ConfigMap NS/late",
		"NoOwner Database NS/orders",
		"NoOwner PersistentVolume released-NS",
		"NoOwner PersistentVolumeClaim NS/data",
		"Orphaned ConfigMap NS/orphan",
	)
	if d := r.Declared; !d.Known || d.Of != "receipt 3f2a9c" || d.Objects != 6 || d.Found != 3 || len(d.Unknown) > 0 || len(d.Orphans) != 2 {
		t.Errorf("declared: %+v", d)
	}
	var durable []string
	for _, d := range r.Durable {
		line := d.Object.String() + ": " + d.Owner
		if d.Of != nil {
			line += " of " + d.Of.String()
		}
		if d.Size != nil {
			line += " " + d.Size.String()
		}
		durable = append(durable, strings.ReplaceAll(line+" "+d.Phase, b.namespace, "NS"))
	}
	want(t, "durable", durable,
		"Database NS/orders:  ",
		"PersistentVolume released-NS:  5Gi Released",
		"PersistentVolumeClaim NS/data:  10Gi Pending",
		"PersistentVolumeClaim NS/data-db-7: data-team of StatefulSet NS/db 3Gi Pending",
		"PersistentVolumeClaim NS/tagged: ann@example.org 2Gi Pending",
		"StatefulSet NS/db: data-team ",
	)
	groups := map[string]inventory.Group{}
	for _, g := range r.Transient {
		groups[g.Resource] = g
	}
	maps, claims := groups["configmaps"], groups["persistentvolumeclaims"]
	if maps.Count < 3 || maps.Overdue < 1 || maps.Refused < 1 || maps.CreatedLastHour < 3 || maps.Trend != nil || claims.Count < 1 {
		t.Errorf("transient: %+v", r.Transient)
	}
	if r.Others["deployments.apps"] != 1 || r.Others["configmaps"] != 0 || r.Elsewhere["Helm"] != 1 {
		t.Errorf("others %v, declared elsewhere %v", r.Others, r.Elsewhere)
	}
	if len(r.Coverage) > 0 {
		t.Errorf("coverage: %+v", r.Coverage)
	}

	// In all namespaces there are more volumes, and without a declaration nothing is
	// missing or an orphan.
	r = take(t, b.cluster.Config(), inventory.Config{Target: "devbox"}, inventory.Request{AllNamespaces: true})
	all := strings.Join(b.lines(r), "\n")
	for _, line := range []string{"NoOwner PersistentVolume free-NS", "NoOwner Database NS/orders", "Overdue ConfigMap NS/late"} {
		if !strings.Contains(all, line) {
			t.Errorf("no %q among all:\n%s", line, all)
		}
	}
	if strings.Contains(all, "Missing") || strings.Contains(all, "Orphaned") || r.Declared.Known {
		t.Errorf("without a declaration:\n%s", all)
	}
}

// What is in a namespace that ends, ends with it, its volumes too; what is to outlive
// it is named.
func TestNamespaceThatEnds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.create(t, `apiVersion: v1
kind: Namespace
metadata: {name: NS-preview, labels: {pharos.dev/intent: transient}, annotations: {pharos.dev/ttl: 1h}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: NS-preview}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: result, namespace: NS-preview, labels: {pharos.dev/intent: retained}}`)
	r := take(t, b.cluster.Config(), inventory.Config{}, inventory.Request{Namespaces: []string{b.namespace + "-preview"}})
	want(t, "findings", b.lines(r), "Refused ConfigMap NS-preview/result", "NoOwner ConfigMap NS-preview/result")
	for _, g := range r.Transient {
		if g.Resource == "persistentvolumeclaims" && (g.Count != 1 || g.Covered != 1) {
			t.Errorf("claims: %+v", g)
		}
	}
	if len(r.Durable) != 1 || r.Durable[0].Keeps == "" || !r.Durable[0].Retained {
		t.Errorf("durable: %+v", r.Durable)
	}
}

// The fields that programs read.
func TestJSON(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := take(t, b.cluster.Config(), inventory.Config{}, inventory.Request{Namespaces: []string{b.namespace}})
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{`"namespaces":["` + b.namespace + `"]`, `"declared":{"known":false`, `"durable":[]`, `"findings":[]`, `"coverage":[]`, `"transient":[`} {
		if !strings.Contains(string(data), field) {
			t.Errorf("no %s in %s", field, data)
		}
	}
}
