package divert_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
)

// patience bounds what a loaded machine may take for what takes a moment.
const patience = 2 * time.Minute

var (
	original = "registry.example/shop/api@sha256:" + strings.Repeat("1", 64)
	agent    = "registry.example/shop/pharos-agent@sha256:" + strings.Repeat("a", 64)
	other    = "registry.example/shop/api@sha256:" + strings.Repeat("2", 64)
)

// manifest is a Deployment that has all that a diversion replaces, and more.
const manifest = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: api
  labels: {pharos.dev/target: devbox}
spec:
  replicas: 2
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec:
      initContainers:
      - {name: migrate, image: "registry.example/shop/migrate:1", command: [migrate]}
      containers:
      - name: sidecar
        image: registry.example/sidecar:1
        command: [sidecar]
      - name: api
        image: IMAGE
        command: [/bin/api]
        args: [--port, "8080"]
        env: [{name: MODE, value: fast}]
        ports: [{name: http, containerPort: 8080}]
        resources: {limits: {memory: 32Mi}}
        livenessProbe: {exec: {command: [/bin/health]}, periodSeconds: 7}
        readinessProbe: {httpGet: {path: /ready, port: http}}
        startupProbe: {exec: {command: [/bin/started, -v]}}
        lifecycle:
          postStart: {exec: {command: [/bin/warm]}}
          preStop: {exec: {command: [/bin/drain]}}
        volumeMounts: [{name: cache, mountPath: /var/cache}]
      volumes: [{name: cache, emptyDir: {}}]
`

// declared is the JSON of the manifest with an image.
func declared(t testing.TB, image string) []byte {
	t.Helper()
	doc, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(manifest, "IMAGE", image)))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// bench is a namespace of its own on the shared cluster.
type bench struct {
	*testing.T
	cluster   *devenv.Cluster
	namespace string
	admin     kubernetes.Interface
}

func newBench(t *testing.T) *bench {
	t.Helper()
	c := devtest.Cluster(t)
	return &bench{T: t, cluster: c, namespace: devtest.Namespace(t, c), admin: devtest.Client(t, c.Config())}
}

// deliver applies the manifest as a delivery of Pharos does, and waits until it is
// rolled out.
func (b *bench) deliver(image string) []byte {
	b.Helper()
	if err := b.apply(image); err != nil {
		b.Fatal(err)
	}
	return b.rolledOut()
}

// apply is server-side apply without force.
func (b *bench) apply(image string) error {
	_, err := b.admin.AppsV1().Deployments(b.namespace).Patch(b.Context(), "api", types.ApplyPatchType, declared(b, image), metav1.PatchOptions{FieldManager: "pharos-devbox"})
	return err
}

// rolledOut waits for that, and returns the Deployment.
func (b *bench) rolledOut() []byte {
	b.Helper()
	b.await(func(d *appsv1.Deployment) bool {
		n := *d.Spec.Replicas
		return d.Status.ObservedGeneration >= d.Generation && d.Status.UpdatedReplicas == n && d.Status.Replicas == n && d.Status.AvailableReplicas == n
	})
	return b.live()
}

// await waits until the Deployment is as wanted.
func (b *bench) await(want func(*appsv1.Deployment) bool) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	if last, err := devtest.Await(ctx, b.admin.AppsV1().Deployments(b.namespace).Watch, "api", want); err != nil {
		b.Fatalf("%v: %+v", err, last)
	}
}

// live is the JSON of the Deployment.
func (b *bench) live() []byte {
	b.Helper()
	doc, err := b.admin.AppsV1().RESTClient().Get().Namespace(b.namespace).Resource("deployments").Name("api").
		SetHeader("Accept", "application/json").Do(b.Context()).Raw()
	if err != nil {
		b.Fatal(err)
	}
	return doc
}

func (b *bench) writer(config *rest.Config, change func(*divert.Config)) *divert.Writer {
	b.Helper()
	c := divert.Config{REST: config}
	if change != nil {
		change(&c)
	}
	w, err := divert.New(c)
	if err != nil {
		b.Fatal(err)
	}
	return w
}

// plan plans without refusals.
func (b *bench) plan() divert.Diversion {
	b.Helper()
	live := b.live()
	d, refusals, _, err := divert.Plan(live, declared(b, imageOf(b, live)), "api", agent)
	if err != nil || len(refusals) > 0 {
		b.Fatalf("%v, %v", refusals, err)
	}
	return d
}

// diverted delivers and diverts.
func (b *bench) diverted() divert.Diversion {
	b.Helper()
	b.deliver(original)
	d := b.plan()
	if err := b.writer(b.cluster.Config(), nil).Divert(b.Context(), d); err != nil {
		b.Fatal(err)
	}
	return d
}

func (b *bench) restore(w *divert.Writer, d divert.Diversion) divert.Restoration {
	b.Helper()
	r, err := w.Restore(b.Context(), d)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// patch changes the Deployment as somebody else.
func (b *bench) patch(manager, patch string) {
	b.Helper()
	_, err := b.admin.AppsV1().Deployments(b.namespace).Patch(b.Context(), "api", types.JSONPatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager})
	if err != nil {
		b.Fatal(err)
	}
}

// spec is the JSON of an object's spec.
func spec(t testing.TB, doc []byte) string {
	t.Helper()
	return string(part(t, doc, "spec"))
}

func part(t testing.TB, doc []byte, names ...string) []byte {
	t.Helper()
	var o any
	if err := json.Unmarshal(doc, &o); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		m, _ := o.(map[string]any)
		o = m[name]
	}
	out, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func imageOf(t testing.TB, doc []byte) string {
	t.Helper()
	var d appsv1.Deployment
	if err := json.Unmarshal(doc, &d); err != nil {
		t.Fatal(err)
	}
	return d.Spec.Template.Spec.Containers[1].Image
}

// owners are the managers of fields but the controllers of the cluster, with what they
// own.
func owners(t testing.TB, doc []byte) []string {
	t.Helper()
	var o metav1.PartialObjectMetadata
	if err := json.Unmarshal(doc, &o); err != nil {
		t.Fatal(err)
	}
	list := map[string]bool{}
	for _, e := range o.ManagedFields {
		if e.Manager != "kube-controller-manager" && e.Manager != "devcluster" {
			list[fmt.Sprintf("%s %s %s %s: %s", e.Manager, e.Operation, e.Subresource, e.APIVersion, e.FieldsV1.String())] = true
		}
	}
	return slices.Sorted(maps.Keys(list))
}

// whole checks that nothing of the takeover is left.
func (b *bench) whole(was []byte) {
	b.Helper()
	now := b.live()
	if spec(b, now) != spec(b, was) {
		b.Errorf("the spec is\n%s\nand was\n%s", spec(b, now), spec(b, was))
	}
	if got, want := owners(b, now), owners(b, was); !slices.Equal(got, want) {
		b.Errorf("the owners are\n%s\nand were\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, of := range []string{"annotations", "labels"} {
		got, want := part(b, now, "metadata", of), part(b, was, "metadata", of)
		if of == "annotations" { // that of the revision is the controller's
			got, want = withoutRevision(b, got), withoutRevision(b, want)
		}
		if string(got) != string(want) {
			b.Errorf("the %s are %s, and were %s", of, got, want)
		}
	}
	// The next delivery of another image meets no conflict.
	if err := b.apply(other); err != nil {
		b.Error(err)
	}
	if got := imageOf(b, b.live()); got != other {
		b.Errorf("the next delivery left image %s", got)
	}
}

func withoutRevision(t testing.TB, doc []byte) []byte {
	t.Helper()
	var m map[string]string
	if err := json.Unmarshal(doc, &m); err != nil {
		t.Fatal(err)
	}
	delete(m, "deployment.kubernetes.io/revision")
	out, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// liveOf is the manifest as a cluster would have it, for plans without a cluster.
func liveOf(t testing.TB, change func(*appsv1.Deployment)) []byte {
	t.Helper()
	var d appsv1.Deployment
	if err := json.Unmarshal(declared(t, original), &d); err != nil {
		t.Fatal(err)
	}
	d.Namespace, d.UID, d.ResourceVersion, d.Generation = "shop", "5f0c8a52", "7", 3
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2}
	d.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To(int64(30))
	if change != nil {
		change(&d)
	}
	doc, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}
