package argocd_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/sizetest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lease/argocd"
	"github.com/pharos-dev/pharos/lease/internal/racetest"
)

// shop is the project of the race, and its Applications.
const shop = "shop"

var shopApps = []string{"api", "web"}

// soon is too soon for what was opened to be as it is declared.
const soon = time.Millisecond

// racing has times for which nobody has to wait long, and a gate that waits so long
// for what it opened.
func racing(config *rest.Config, s racetest.Setup, c lease.Config, settle time.Duration) (lease.Config, error) {
	gate, err := argocd.New(argocd.Config{REST: config, Namespace: s.Namespace, Answer: time.Second, Settle: settle,
		Applications: func(context.Context) ([]string, error) { return shopApps, nil }})
	c.Borrow = lease.Timing{Duration: 6 * time.Second, RenewEvery: time.Second}
	c.RequestTimeout, c.RetryPeriod, c.Margin, c.Grace = 700*time.Millisecond, 50*time.Millisecond, time.Second, time.Second
	c.Gate, c.GateTimeout = gate, time.Second
	return c, err
}

// outspoken is a gate that says what it is about to do.
type outspoken struct{ lease.Gate }

func (g outspoken) Sweep(ctx context.Context, c lease.Claim) (lease.Report, error) {
	racetest.At("sweep")
	return g.Gate.Sweep(ctx, c)
}

func (g outspoken) Close(ctx context.Context, c lease.Claim) error {
	racetest.At("close")
	return g.Gate.Close(ctx, c)
}

func (g outspoken) Extend(ctx context.Context, c lease.Claim) error {
	racetest.At("extend")
	return g.Gate.Extend(ctx, c)
}

func (g outspoken) Open(ctx context.Context, c lease.Claim) (lease.Report, error) {
	racetest.At("open")
	return g.Gate.Open(ctx, c)
}

// racer borrows the shop, and looks each time that it may write whether the gate
// stands. What it opens is left to the watchdog.
func racer(s racetest.Setup, config *rest.Config, c lease.Config) (*racetest.Racer, error) {
	c, err := racing(config, s, c, soon)
	if err != nil {
		return nil, err
	}
	c.Gate = outspoken{c.Gate}
	client, err := argo.NewClient(config)
	if err != nil {
		return nil, err
	}
	return &racetest.Racer{Config: c, Mode: lease.ModeBorrow, Write: func(ctx context.Context, h *lease.Held) error {
		if err := h.Check(ctx); err != nil {
			return err
		}
		until := h.State().Expires
		p, err := client.Project(ctx, s.Namespace, shop)
		if err != nil {
			return err
		}
		if err := h.Check(ctx); err != nil {
			return err
		}
		for _, w := range p.Spec.SyncWindows {
			m, err := w.Mark()
			if err == nil && m != nil && m.Holder == h.Holder() && m.Token == h.Token() && !m.Ended && !m.End.Before(until) && slices.Equal(w.Names(), shopApps) {
				return nil
			}
		}
		return fmt.Errorf("%w: the gate of token %d does not stand until %s: %s", racetest.ErrWrong, h.Token(), until, p.Spec.SyncWindows)
	}}, nil
}

func resources(config *rest.Config, namespace, name string) (dynamic.ResourceInterface, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return client.Resource(schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: name}).Namespace(namespace), nil
}

// Processes race to borrow the Applications of a project whose windows somebody
// else edits, too, as Argo CD's command line does. At the end the project is as it
// was.
func TestRace(t *testing.T) {
	t.Parallel()
	c := devtest.ArgoCD(t).Cluster()
	s := racetest.Setup{Namespace: devtest.Namespace(t, c)}
	projects, err := resources(c.Config(), s.Namespace, "appprojects")
	if err != nil {
		t.Fatal(err)
	}
	apps, err := resources(c.Config(), s.Namespace, "applications")
	if err != nil {
		t.Fatal(err)
	}
	create := func(in dynamic.ResourceInterface, doc string) *unstructured.Unstructured {
		o, err := in.Create(t.Context(), &unstructured.Unstructured{Object: object(t, doc)}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	before := create(projects, `
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: `+shop+`}
spec:
  sourceRepos: ["*"]
  destinations: [{server: "*", namespace: "*"}]
  syncWindows: [{kind: deny, schedule: "0 3 * * *", duration: 1h, applications: [nightly]}]`)
	for _, name := range shopApps {
		create(apps, `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: `+name+`}
spec:
  project: `+shop+`
  source: {repoURL: "https://git.example.com/shop.git", targetRevision: main, path: `+name+`}
  destination: {server: "https://kubernetes.default.svc", namespace: shop}
  syncPolicy: {automated: {selfHeal: true}}`)
	}
	// Argo CD does not look into this namespace.
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { answer(ctx, t, apps) })
	defer wg.Wait()
	defer cancel() // also where the test is over before
	stopEditing := edit(t, c.Kubeconfig(), s.Namespace)

	managed := func(settle time.Duration) (*lease.Manager, lease.Config) {
		config, err := racing(c.Config(), s, racetest.Config(c.Config(), s), settle)
		if err != nil {
			t.Fatal(err)
		}
		m, err := lease.New(config)
		if err != nil {
			t.Fatal(err)
		}
		return m, config
	}
	breaker, config := managed(soon)
	watchdog, _ := managed(patience)
	watched, stopWatching := context.WithCancel(ctx)
	wg.Go(func() {
		if err := watchdog.Watch(watched, lease.WatchConfig{Every: time.Second, Soon: 100 * time.Millisecond}); err != nil {
			t.Error(err)
		}
	})
	// Somebody sweeps, in some rounds, who has read the lease before.
	var late *lease.Claim
	round := 0
	readEarly := func() {
		if round++; round%5 != 0 {
			return
		}
		st, err := breaker.Inspect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		late = &lease.Claim{Namespace: s.Namespace, Target: config.Target, Token: st.Token, Now: st.Now}
	}
	sweepLate := func() {
		if late == nil {
			return
		}
		if _, err := config.Gate.Sweep(t.Context(), *late); err != nil {
			t.Errorf("a sweep by who read the lease before: %v", err)
		}
		late = nil
	}
	sweep := func() {
		_, report, err := watchdog.Sweep(t.Context())
		if err != nil || len(report.Pending) > 0 {
			t.Errorf("the sweep after the race: %+v, %v", report, err)
		}
		t.Logf("the sweep after the race opened %q", report.Opened)
		asBefore(t, projects, before)
	}
	gateless := config
	gateless.Gate = nil
	racetest.Race{
		Cluster: c, Setup: s, Manager: breaker, Mode: lease.ModeBorrow,
		Processes: sizetest.Of(12, 100), Rounds: sizetest.Of(20, 300),
		OnItsWay: config.Grace + time.Second,
		Judge:    func(events []devenv.AuditEvent) { guardedPatches(t, events) },
		Before:   readEarly, Held: sweepLate, Last: stopWatching,
		Ended: func() {
			stopEditing()
			// One sweep finds what is left once nobody holds the lease any more.
			m, err := lease.New(gateless)
			if err != nil {
				t.Fatal(err)
			}
			h, err := m.Acquire(t.Context(), lease.Request{Mode: lease.ModeDeliver, Wait: patience})
			if err == nil {
				err = h.Release(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			sweep()
		},
	}.Run(t)
	sweep()
}

// guardedPatches wants each write of the gates to have the resourceVersion of what
// it changes as a precondition.
func guardedPatches(t *testing.T, events []devenv.AuditEvent) {
	t.Helper()
	patches := 0
	for _, e := range events {
		if e.Group != "argoproj.io" || e.Verb != "patch" || len(e.Request) == 0 || strings.Contains(e.RequestURI, "fieldManager="+controller) {
			continue
		}
		patches++
		var ops []argo.Op
		if err := json.Unmarshal(e.Request, &ops); err != nil || !slices.ContainsFunc(ops, func(o argo.Op) bool { return o.Op == "test" && o.Path == "/metadata/resourceVersion" }) {
			t.Errorf("%s: %s", e.RequestURI, e.Request)
		}
	}
	if patches == 0 {
		t.Error("the gates have written nothing")
	}
}

// asBefore wants the project to be as it was.
func asBefore(t *testing.T, projects dynamic.ResourceInterface, before *unstructured.Unstructured) {
	t.Helper()
	p, err := projects.Get(t.Context(), shop, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(jsonOf(t, p.Object["spec"])), string(jsonOf(t, before.Object["spec"])); got != want {
		t.Errorf("the project is\n%s\nand was\n%s", got, want)
	}
}
