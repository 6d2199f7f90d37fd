package apply_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/deliver/apply"
	"github.com/pharos-dev/pharos/receipt"
)

// patience bounds what a loaded machine may take for what takes a moment.
const patience = 2 * time.Minute

// bench is a namespace of its own on the shared cluster, which is the target
// too, and a Deliverer whose requests are counted.
type bench struct {
	*apply.Deliverer
	cluster   *devenv.Cluster
	namespace string
	requests  *devtest.Counter
	admin     kubernetes.Interface
}

func newBench(t *testing.T) *bench {
	t.Helper()
	c := devtest.Cluster(t)
	return benchOn(t, c, c.Config())
}

func benchOn(t *testing.T, c *devenv.Cluster, as *rest.Config) *bench {
	t.Helper()
	ns := devtest.Namespace(t, c)
	config, requests := devtest.Count(as)
	return &bench{
		Deliverer: newDeliverer(t, apply.Config{RESTConfig: config, DefaultNamespace: ns}),
		cluster:   c, namespace: ns, requests: requests, admin: devtest.Client(t, c.Config()),
	}
}

func newDeliverer(t testing.TB, c apply.Config) *apply.Deliverer {
	t.Helper()
	d, err := apply.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// objects reads YAML documents and labels them for the target, as a renderer
// does. NS stands for the namespace of the bench.
func (b *bench) objects(t testing.TB, docs string) []lifecycle.Object {
	t.Helper()
	return objects(t, b.namespace, docs)
}

func objects(t testing.TB, target, docs string) []lifecycle.Object {
	t.Helper()
	var list []lifecycle.Object
	for doc := range strings.SplitSeq(strings.ReplaceAll(docs, "NS", target), "\n---\n") {
		var u unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(doc), &u.Object); err != nil {
			t.Fatal(err)
		}
		labels := maps.Clone(u.GetLabels())
		if labels == nil {
			labels = map[string]string{}
		}
		labels[keys.Target] = target
		u.SetLabels(labels)
		raw, err := u.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		canonical := jsontext.Value(raw)
		if err := canonical.Canonicalize(); err != nil {
			t.Fatal(err)
		}
		gvk := u.GroupVersionKind()
		list = append(list, lifecycle.Object{
			Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind,
			Namespace: u.GetNamespace(), Name: u.GetName(), JSON: canonical,
		})
	}
	return list
}

func resolve(t testing.TB, d *apply.Deliverer, objects []lifecycle.Object) []receipt.Object {
	t.Helper()
	r, err := d.Resolve(t.Context(), objects)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (b *bench) request(t testing.TB, docs string) lifecycle.DeliverRequest {
	t.Helper()
	o := b.objects(t, docs)
	return lifecycle.DeliverRequest{Objects: o, Resolved: resolve(t, b.Deliverer, o), Target: b.namespace, Guard: open}
}

// open is a guard that lets everything pass.
func open(context.Context) error { return nil }

// deliver delivers and returns what happened, one line for each object.
func (b *bench) deliver(t testing.TB, docs string) []receipt.Object {
	t.Helper()
	r := b.request(t, docs)
	if _, err := b.Deliver(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return r.Resolved
}

func lines(changes []lifecycle.Change) []string {
	var list []string
	for _, c := range changes {
		list = append(list, fmt.Sprintf("%s %s", c.Type, lifecycle.ObjectName(c.Object)))
	}
	return list
}

func (b *bench) observe(t testing.TB, r lifecycle.ObserveRequest) lifecycle.Observation {
	t.Helper()
	r.Target = b.namespace
	o, err := b.Observe(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// wait waits for health with a bound that only a fault exceeds.
func (b *bench) wait(t testing.TB, objects []receipt.Object) lifecycle.Observation {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	o, err := b.Wait(ctx, lifecycle.ObserveRequest{Target: b.namespace, Objects: objects})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// want compares lists of lines.
func want(t testing.TB, what string, got []string, lines ...string) {
	t.Helper()
	if !slices.Equal(got, lines) {
		t.Errorf("%s:\n got  %q\n want %q", what, got, lines)
	}
}

func names(objects []receipt.Object) []string {
	var list []string
	for _, o := range objects {
		list = append(list, lifecycle.ObjectName(o))
	}
	return list
}

func reasons(list []lifecycle.ObjectStatus) []string {
	var lines []string
	for _, s := range list {
		lines = append(lines, lifecycle.ObjectName(s.Object)+": "+s.Reason)
	}
	return lines
}

func mustContain(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q does not say %q", text, p)
		}
	}
}

// as is what somebody else with a field manager of his own sends.
func as(manager string) metav1.PatchOptions { return metav1.PatchOptions{FieldManager: manager} }

const configMap = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {mode: calm}`

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: api}
spec:
  replicas: 1
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec:
      containers:
      - name: api
        image: registry.invalid/api@sha256:0000000000000000000000000000000000000000000000000000000000000000`

// onceGuard is a guard that does something before the first write.
func onceGuard(first *bool, do func()) func(context.Context) error {
	return func(context.Context) error {
		if *first {
			*first = false
			do()
		}
		return nil
	}
}

func counted(n *int) func(context.Context) error {
	var mu sync.Mutex
	return func(context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		*n++
		return nil
	}
}

// writesBy fails the test if Pharos writes from now on, other than as a dry run.
func writesBy(t *testing.T, b *bench) (check func()) {
	t.Helper()
	audit := devtest.RecordAudit(t, b.cluster)
	return func() {
		t.Helper()
		for _, e := range audit.Events(t, devtest.InNamespace(b.namespace)) {
			if e.UserAgent == "pharos" && e.Verb != "list" && !strings.Contains(e.RequestURI, "dryRun=All") {
				t.Errorf("%s %s", e.Verb, e.RequestURI)
			}
		}
	}
}
