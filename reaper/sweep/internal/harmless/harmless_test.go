package harmless

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/sizetest"
	"github.com/pharos-dev/pharos/reaper"
	"github.com/pharos-dev/pharos/reaper/sweep"
)

// seedOf is that of PHAROS_TEST_SEED, or a random one.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("PHAROS_TEST_SEED")
	if text == "" {
		return rand.Uint64()
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return seed
}

// rights are those of a sweep of the resources.
var rights = devtest.Rights{ClusterWide: []rbacv1.PolicyRule{
	{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"patch", "delete"}},
	{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"delete"}},
	{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"delete"}},
}}

// swept are the resources as kubectl names them.
var swept = []string{"namespaces", "configmaps", "leases.coordination.k8s.io"}

// While people, and machines whose clocks are wrong, change everything at random,
// several sweeps that are killed and started again and lose answers delete nothing that
// they must not, and leave nothing in the end.
func TestHarmless(t *testing.T) {
	t.Parallel()
	seed := seedOf(t)
	t.Logf("PHAROS_TEST_SEED=%d", seed)
	c := devtest.Cluster(t)
	admin := rest.CopyConfig(c.Config())
	admin.QPS, admin.UserAgent = -1, "people"
	kube := devtest.Client(t, admin)
	arenas, boxes, owners := playground(t, kube)
	user, name := devtest.User(t, c, devtest.Namespace(t, c), rights)
	audit := devtest.RecordAudit(t, c)
	var sweeps sync.WaitGroup
	defer sweeps.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h := record(ctx, t, admin)
	lure(t, kube)
	fill(t, kube)

	// The sweeps: two that run all the time, which makes them each other's rivals, one
	// of which is over a bad network and is killed over and over, and passes.
	sweeps.Go(func() { run(ctx, t, agent(user, "steady")) })
	disturbed, calm := context.WithCancel(ctx)
	sweeps.Go(func() {
		for n := uint64(0); disturbed.Err() == nil; n++ {
			random := rand.New(rand.NewPCG(seed, 1000+n))
			life, kill := context.WithTimeout(disturbed, time.Duration(1+random.IntN(4000))*time.Millisecond)
			run(life, t, unreliable(agent(user, fmt.Sprintf("killed %d", n)), random.Uint64()))
			kill()
		}
	})
	sweeps.Go(func() {
		for n := 0; disturbed.Err() == nil; n++ {
			pass(disturbed, t, unreliable(agent(user, fmt.Sprintf("pass %d", n)), seed+uint64(n)))
		}
	})

	var people sync.WaitGroup
	for n, skew := range []time.Duration{0, 0, 0, -10 * time.Minute, 2 * time.Second, 10 * time.Minute} {
		people.Go(func() {
			s := &somebody{Rand: rand.New(rand.NewPCG(seed, uint64(n))), arenas: arenas, boxes: boxes, owners: owners, skew: skew}
			var err error
			if s.client, err = dynamic.NewForConfig(admin); err == nil {
				s.reap, err = reaper.NewClient(admin)
			}
			for range sizetest.Of(250, 1500) {
				if err == nil {
					err = s.step(ctx)
				}
			}
			if err != nil {
				t.Errorf("somebody: %v", err)
			}
		})
	}
	people.Wait()
	calm()
	settle(t, admin)
	pass(ctx, t, agent(user, "last pass"))
	awaitNothingDue(t, admin, true)
	caughtUp(t, admin, h)
	cancel()
	sweeps.Wait()

	v := judge(audit.Events(t, devtest.ByUser(name)), h)
	for _, f := range v.findings {
		t.Errorf("%s", f)
	}
	t.Logf("%v deletions, %d refused, %d of which nothing was heard, %d namespaces into which something was put at the last moment",
		v.deletions, v.refused, v.unheard, v.raced)
	if v.deletions["configmaps"] < 10 || v.deletions["leases"] < 10 || v.deletions["namespaces"] == 0 {
		t.Errorf("only %v deletions, which prove little", v.deletions)
	}
}

func agent(config *rest.Config, name string) *rest.Config {
	config = rest.CopyConfig(config)
	config.UserAgent, config.WarningHandler = name, rest.NoWarnings{}
	return config
}

func run(ctx context.Context, t *testing.T, config *rest.Config) {
	e, err := sweep.New(sweep.Config{REST: config, DeletesPerSecond: -1})
	if err != nil {
		t.Error(err)
		return
	}
	s, err := sweep.NewSweeper(e, sweep.SweeperConfig{Resources: swept})
	if err == nil {
		err = s.Run(ctx)
	}
	if err != nil {
		t.Error(err)
	}
}

// pass makes one pass. What fails on the way is looked at by the next one.
func pass(ctx context.Context, t *testing.T, config *rest.Config) {
	e, err := sweep.New(sweep.Config{REST: config, DeletesPerSecond: -1})
	if err != nil {
		t.Error(err)
		return
	}
	if _, err := e.Pass(ctx, sweep.PassOptions{Resources: swept}); err != nil && ctx.Err() == nil {
		t.Logf("a pass: %v", err)
	}
}

// playground makes namespaces that stay, with an owner in each, and names of some that
// come and go.
func playground(t *testing.T, kube kubernetes.Interface) (arenas, boxes []string, owners map[string]types.UID) {
	t.Helper()
	owners = map[string]types.UID{}
	for n := range 2 {
		arena := fmt.Sprintf("arena-%d", n)
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: arena}}
		if _, err := kube.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		owner, err := kube.CoreV1().ConfigMaps(arena).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		// Changed last of all, see caughtUp.
		last := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}
		if _, err := kube.CoordinationV1().Leases(arena).Create(t.Context(), last, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		arenas, owners[arena] = append(arenas, arena), owner.UID
	}
	for n := range sizetest.Of(6, 12) {
		boxes = append(boxes, fmt.Sprintf("box-%d", n))
	}
	return arenas, boxes, owners
}

// lure says of what is the system's that it is past its end.
func lure(t *testing.T, kube kubernetes.Interface) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"transient"},"annotations":{%q:"2020-01-02T03:04:05Z"}}}`, keys.Intent, keys.ExpiresAt)
	for _, name := range []string{"default", "kube-public", "kube-system", "kube-node-lease"} {
		if _, err := kube.CoreV1().Namespaces().Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, namespace := range []string{"kube-system", "arena-0", "default"} {
		err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
			_, err := kube.CoreV1().ConfigMaps(namespace).Patch(ctx, "kube-root-ca.crt", types.MergePatchType, patch, metav1.PatchOptions{})
			return err == nil, nil
		})
		if err != nil {
			t.Fatalf("lure in %s: %v", namespace, err)
		}
	}
	bait := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "bait", Labels: map[string]string{keys.Intent: "transient"}, Annotations: map[string]string{keys.TTL: "1s"}}}
	if _, err := kube.CoreV1().ConfigMaps("kube-system").Create(t.Context(), bait, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// fill makes namespaces that nobody comes to: one that is to end with what is in it, and
// one that holds what is to outlive it.
func fill(t *testing.T, kube kubernetes.Interface) {
	t.Helper()
	for name, intent := range map[string]string{"spare": "transient", "shelf": "retained"} {
		held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held", Labels: map[string]string{keys.Intent: intent}, Annotations: map[string]string{keys.TTL: "1h"}}}
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := kube.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := kube.CoreV1().ConfigMaps(name).Create(t.Context(), held, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"transient"},"annotations":{%q:"1s"}}}`, keys.Intent, keys.TTL)
		if _, err := kube.CoreV1().Namespaces().Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// patience is how long a test waits for what does not come.
const patience = 3 * time.Minute

// due are the objects that are to end by now, and the namespaces if they are asked for.
func due(ctx context.Context, t *testing.T, config *rest.Config, namespaces bool) []string {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	holds := map[string]bool{}
	var found []string
	for _, r := range append(resources[1:len(resources):len(resources)], resources[0]) { // namespaces last
		list, err := client.Resource(r).List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			meta := metav1.ObjectMeta{
				Namespace: o.GetNamespace(), Name: o.GetName(), CreationTimestamp: o.GetCreationTimestamp(), DeletionTimestamp: o.GetDeletionTimestamp(),
				Labels: o.GetLabels(), Annotations: o.GetAnnotations(), OwnerReferences: o.GetOwnerReferences(),
			}
			if outlives(meta) != "" {
				holds[meta.Namespace] = true
			}
			isNamespace := r.Resource == "namespaces"
			if isNamespace && (!namespaces || holds[meta.Name]) {
				continue
			}
			if forbids(r.Resource, meta, time.Now()) == "" {
				found = append(found, fmt.Sprintf("%s %s/%s %v", r.Resource, meta.Namespace, meta.Name, meta.Annotations))
			}
		}
	}
	return found
}

// settle lets what is held go, and waits until what runs has ended what is due.
func settle(t *testing.T, config *rest.Config) {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	s := &somebody{client: client}
	for _, r := range resources[1:] {
		list, err := client.Resource(r).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			if len(o.GetFinalizers()) > 0 {
				if err := s.free(t.Context(), r, o.GetNamespace(), o.GetName()); err != nil && !apierrors.IsNotFound(err) {
					t.Fatal(err)
				}
			}
		}
	}
	awaitNothingDue(t, config, false)
}

// awaitNothingDue waits until nothing is left that is to end, a namespace that holds
// what outlives it aside.
func awaitNothingDue(t *testing.T, config *rest.Config, namespaces bool) {
	t.Helper()
	var still []string
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		still = due(ctx, t, config, namespaces)
		return len(still) == 0, nil
	})
	if err != nil {
		t.Errorf("these are past their end and are still there:\n%s", strings.Join(still, "\n"))
	}
}

// caughtUp waits until the history is complete.
func caughtUp(t *testing.T, config *rest.Config, h *history) {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	last := []byte(`{"metadata":{"annotations":{"example.org/last":"this"}}}`)
	for _, r := range resources {
		in, name := (&somebody{client: client}).in(r, "arena-0"), "owner"
		if r.Resource == "namespaces" {
			in, name = client.Resource(r), "arena-0"
		}
		o, err := in.Patch(t.Context(), name, types.MergePatchType, last, metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		err = wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true, func(context.Context) (bool, error) {
			return h.reached(r.Resource, o.GetResourceVersion()), nil
		})
		if err != nil {
			t.Fatalf("the history of %s: %v", r.Resource, err)
		}
	}
}
