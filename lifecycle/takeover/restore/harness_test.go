package restore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
	"github.com/pharos-dev/pharos/lifecycle/takeover/restore"
)

// patience bounds what a loaded machine may take for what takes a moment.
const patience = 2 * time.Minute

var (
	original = "registry.example/shop/api@sha256:" + strings.Repeat("1", 64)
	agent    = "registry.example/shop/pharos-agent@sha256:" + strings.Repeat("a", 64)
)

// bench is a target of its own on the shared cluster.
type bench struct {
	*testing.T
	cluster   *devenv.Cluster
	namespace string
	admin     kubernetes.Interface
	leases    *lease.Manager
	store     *journal.Store
	// was are the Deployments as they were delivered, by name.
	was map[string][]byte
	// held is the holder's.
	held *lease.Held
}

func newBench(t *testing.T) *bench {
	t.Helper()
	c := devtest.Cluster(t)
	b := &bench{T: t, cluster: c, namespace: devtest.Namespace(t, c), admin: devtest.Client(t, c.Config()), was: map[string][]byte{}}
	b.leases = b.manager(c.Config())
	var err error
	if b.store, err = journal.NewStore(journal.StoreConfig{REST: c.Config(), Namespace: b.namespace, Target: "devbox"}); err != nil {
		t.Fatal(err)
	}
	return b
}

// leaseConfig is a lease whose grace is short.
func leaseConfig(config *rest.Config, namespace string) lease.Config {
	return lease.Config{REST: config, Namespace: namespace, Target: "devbox", Grace: time.Second}
}

func (b *bench) manager(config *rest.Config) *lease.Manager {
	b.Helper()
	m, err := lease.New(leaseConfig(config, b.namespace))
	if err != nil {
		b.Fatal(err)
	}
	return m
}

func restorer(config *rest.Config, namespace string, change func(*restore.Config)) (*restore.Restorer, error) {
	leases, err := lease.New(leaseConfig(config, namespace))
	if err != nil {
		return nil, err
	}
	c := restore.Config{REST: config, Namespace: namespace, Target: "devbox", Lease: leases, By: "bob@lab"}
	if change != nil {
		change(&c)
	}
	return restore.New(c)
}

func (b *bench) restorer(config *rest.Config, change func(*restore.Config)) *restore.Restorer {
	b.Helper()
	r, err := restorer(config, b.namespace, change)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// deliver applies a Deployment as a delivery of Pharos does.
func (b *bench) deliver(name string) []byte {
	b.Helper()
	doc := declared(name)
	_, err := b.admin.AppsV1().Deployments(b.namespace).Patch(b.Context(), name, types.ApplyPatchType, doc, metav1.PatchOptions{FieldManager: "pharos-devbox"})
	if err != nil {
		b.Fatal(err)
	}
	b.settled(name)
	b.was[name] = b.live(name)
	return doc
}

// declared is a Deployment as Git declares it.
func declared(name string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%[1]q,"labels":{"pharos.dev/target":"devbox"}},
		"spec":{"replicas":1,"selector":{"matchLabels":{"app":%[1]q}},"template":{"metadata":{"labels":{"app":%[1]q}},
		"spec":{"containers":[{"name":"app","image":%[2]q,"command":["/bin/api"],"livenessProbe":{"exec":{"command":["/bin/health"]}}}]}}}}`, name, original)
}

// deliverAnew applies what was delivered once more, and takes the fields that somebody
// else has written since.
func (b *bench) deliverAnew(name string) {
	b.Helper()
	force := true
	_, err := b.admin.AppsV1().Deployments(b.namespace).Patch(b.Context(), name, types.ApplyPatchType, declared(name), metav1.PatchOptions{FieldManager: "pharos-devbox", Force: &force})
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) live(name string) []byte {
	b.Helper()
	doc, err := b.admin.AppsV1().RESTClient().Get().Namespace(b.namespace).Resource("deployments").Name(name).
		SetHeader("Accept", "application/json").Do(b.Context()).Raw()
	if err != nil {
		b.Fatal(err)
	}
	return doc
}

// takenOver has a holder take Deployments over, for as long as the lease lasts.
func (b *bench) takenOver(length, silence time.Duration, names ...string) journal.Session {
	b.Helper()
	w, err := divert.New(divert.Config{REST: b.cluster.Config()})
	if err != nil {
		b.Fatal(err)
	}
	if b.held, err = b.leases.Acquire(b.Context(), lease.Request{Mode: lease.ModeBorrow, User: "ann@desk", For: length, Wait: patience}); err != nil {
		b.Fatal(err)
	}
	d := journal.Document{Session: "S1", Target: "devbox", Namespace: b.namespace, Cluster: "5f0c8a52", Holder: b.held.Holder(), Token: b.held.Token(),
		User: "ann@desk", Step: journal.Serving, Silence: int64(silence / time.Second)}
	for _, name := range names {
		declared := b.deliver(name)
		diversion, refusals, _, err := divert.Plan(b.was[name], declared, "app", agent)
		if err != nil || len(refusals) > 0 {
			b.Fatal(refusals, err)
		}
		d.Workloads = append(d.Workloads, journal.Workload{State: journal.Diverting, Diversion: diversion})
	}
	session, err := b.store.Create(b.Context(), d)
	if err != nil {
		b.Fatal(err)
	}
	for _, of := range d.Workloads {
		if err := w.Divert(b.Context(), of.Diversion); err != nil {
			b.Fatal(err)
		}
	}
	return session
}

func (b *bench) release() {
	b.Helper()
	if err := b.held.Release(b.Context()); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) pass(r *restore.Restorer) restore.Report {
	b.Helper()
	report, err := r.Pass(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return report
}

// silent makes the holder's last sign of life one of long ago.
func (b *bench) silent() {
	b.Helper()
	_, err := b.admin.CoreV1().Secrets(b.namespace).Patch(b.Context(), journal.ObjectName("devbox"), types.MergePatchType,
		[]byte(`{"stringData":{"heartbeat":"2001-02-03T04:05:06Z"}}`), metav1.PatchOptions{})
	if err != nil {
		b.Fatal(err)
	}
}

func part(t testing.TB, doc []byte, name string) string {
	t.Helper()
	var o map[string]json.RawMessage
	if err := json.Unmarshal(doc, &o); err != nil {
		t.Fatal(err)
	}
	return string(o[name])
}

// whole checks that all Deployments are what they were, with nobody of ours among the
// owners of fields, and that the session object is gone or not.
func (b *bench) whole(session bool) {
	b.Helper()
	for name, was := range b.was {
		now := b.live(name)
		if part(b, now, "spec") != part(b, was, "spec") {
			b.Errorf("%s is\n%s\nand was\n%s", name, part(b, now, "spec"), part(b, was, "spec"))
		}
		if strings.Contains(string(now), "pharos.takeover") {
			b.Errorf("%s has fields of a takeover", name)
		}
	}
	if _, err := b.store.Load(b.Context()); errors.Is(err, journal.ErrNone) == session {
		b.Errorf("the session object: %v", err)
	}
}

// diverted checks that all Deployments are the agent's.
func (b *bench) diverted() {
	b.Helper()
	for name := range b.was {
		if !strings.Contains(part(b, b.live(name), "spec"), agent) {
			b.Errorf("%s is not diverted", name)
		}
	}
}

// settled waits until a Deployment is rolled out.
func (b *bench) settled(name string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	rolledOut := func(d *appsv1.Deployment) bool {
		return d.Status.ObservedGeneration >= d.Generation && d.Status.UpdatedReplicas == 1 && d.Status.AvailableReplicas == 1 && d.Status.Replicas == 1
	}
	if last, err := devtest.Await(ctx, b.admin.AppsV1().Deployments(b.namespace).Watch, name, rolledOut); err != nil {
		b.Fatalf("%v: %+v", err, last)
	}
}
