package sweep_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/sizetest"
	"github.com/pharos-dev/pharos/reaper"
	"github.com/pharos-dev/pharos/reaper/sweep"
)

// many is how many objects there are, the half of them Pods.
func many() int {
	if sizetest.Full() {
		return 100_000
	}
	return 5_000
}

// perObject is the most memory that one may take, in bytes of the heap.
const perObject = 400

// Many objects with mixed deadlines: none is missed, none ends too early, and what a
// sweep remembers of each is small.
func TestSweepOfManyObjects(t *testing.T) {
	// Not parallel: it measures the heap, which other tests use, too.
	c := devtest.OwnCluster(t, devenv.Options{})
	w := world{t, c, devtest.Client(t, c.Config()), devtest.Namespace(t, c)}
	n := many()
	both := func(c *sweep.SweeperConfig) { c.Resources = []string{"configmaps", "pods"} }

	dry := w.start(w.ender(func(c *sweep.Config) { c.DryRun = true }), both, func(c *sweep.SweeperConfig) { c.Observed = nil })
	dry.covers()
	ends := w.plan(n)
	before := inUse()
	w.createMany(ends)
	eventually(t, "it knows all of them", func() bool { return known(dry) == n })
	took := int(inUse()-before) / n
	t.Logf("an object takes %d bytes", took)
	if took > perObject {
		t.Errorf("an object takes %d bytes, want at most %d", took, perObject)
	}
	dry.stop()
	// A server that cannot stream its lists is asked for pages.
	config, requests := devtest.Count(unstreamed(c.Config()))
	paged := w.start(ender(t, config, func(c *sweep.Config) { c.DryRun = true }), both, func(c *sweep.SweeperConfig) { c.Observed = nil })
	eventually(t, "it knows all of them by pages", func() bool { return known(paged) == n })
	paged.stop()
	if !slices.ContainsFunc(requests.Requests(), func(r devtest.Request) bool { return strings.Contains(r.Query, "continue=") }) {
		t.Error("it never asked for a second page")
	}

	audit := devtest.RecordAudit(t, c)
	stays := 0
	for _, end := range ends {
		if end.After(time.Now().Add(time.Hour)) {
			stays++
		}
	}
	r := w.start(w.ender(), both, func(c *sweep.SweeperConfig) { c.Observed = nil })
	r.covers()
	began := time.Now()
	for deadline := time.After(longest + time.Duration(n)*20*time.Millisecond); known(r) != stays; {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-deadline:
			t.Fatalf("%d are known, want %d: %v", known(r), stays, r.State())
		}
	}
	t.Logf("%d of %d ended within %s", n-stays, n, time.Since(began).Round(time.Second))

	var late []time.Duration
	for _, e := range audit.Events(t, func(e devenv.AuditEvent) bool { return e.Verb == "delete" && e.Namespace == w.ns && e.Code == 200 }) {
		name := e.Resource + "/" + e.Name
		end, ok := ends[name]
		if !ok {
			t.Errorf("%s was deleted twice", name)
			continue
		}
		delete(ends, name)
		if e.Received.Before(end) {
			t.Errorf("%s was deleted at %s, and ends at %s", name, e.Received, end)
		}
		late = append(late, e.Received.Sub(latest(end, began)))
	}
	if len(ends) != stays {
		t.Errorf("%d are left, want %d", len(ends), stays)
	}
	for name, end := range ends {
		if end.Before(time.Now()) {
			t.Errorf("%s was missed", name)
		}
	}
	slices.Sort(late)
	t.Logf("late since it ended, or since the sweep knew of all: p50 %s, p99 %s", late[len(late)/2], late[len(late)*99/100])
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// known is how many objects a sweep knows of that are not on their way out.
func known(r *running) (n int) {
	for _, of := range r.State().Objects {
		n += of[sweep.ClassWaiting] + of[sweep.ClassTerminating]
	}
	return n
}

// plan says when that many objects end, by resource and name: a fifth has, a fifth
// stays, and the rest ends while they are swept.
func (w world) plan(n int) map[string]time.Time {
	ends := map[string]time.Time{}
	soon := time.Now().Add(time.Duration(n) * time.Second / 400).Truncate(time.Second) // about when all are there
	for i := range n {
		end := soon.Add(time.Duration(i%20) * time.Second)
		switch i / 2 % 5 {
		case 0:
			end = time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
		case 1:
			end = time.Date(2999, 1, 2, 3, 4, 5, 0, time.UTC)
		}
		ends[fmt.Sprintf("%s/preview-of-a-change-%06d", []string{"configmaps", "pods"}[i%2], i)] = end
	}
	return ends
}

// createMany creates the objects of a plan.
func (w world) createMany(ends map[string]time.Time) {
	w.t.Helper()
	eventually(w.t, "there is an account for pods", func() bool {
		_, err := w.admin.CoreV1().ServiceAccounts(w.ns).Get(w.t.Context(), "default", metav1.GetOptions{})
		return err == nil
	})
	g, ctx := errgroup.WithContext(w.t.Context())
	g.SetLimit(32)
	for of, end := range ends {
		resource, name, _ := strings.Cut(of, "/")
		meta := transient(name, map[string]string{keys.ExpiresAt: reaper.FormatTime(end)})
		g.Go(func() error { return w.createOne(ctx, resource, meta) })
	}
	if err := g.Wait(); err != nil {
		w.t.Fatal(err)
	}
}

func (w world) createOne(ctx context.Context, resource string, meta metav1.ObjectMeta) (err error) {
	if resource == "configmaps" {
		_, err = w.admin.CoreV1().ConfigMaps(w.ns).Create(ctx, &corev1.ConfigMap{ObjectMeta: meta}, metav1.CreateOptions{})
	} else {
		_, err = w.admin.CoreV1().Pods(w.ns).Create(ctx, &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{
			SchedulingGates: []corev1.PodSchedulingGate{{Name: "example.org/never"}}, // it is not the scheduler that is tried
			Containers:      []corev1.Container{{Name: "main", Image: "registry.example/main"}},
		}}, metav1.CreateOptions{})
	}
	if apierrors.IsAlreadyExists(err) { // of a try whose answer was lost
		return nil
	}
	return err
}

// inUse is what the program keeps on its heap.
func inUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
