package argocd_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lease/argocd"
	"github.com/pharos-dev/pharos/lease/internal/racetest"
)

// shop is the project of the race, and its Applications.
const shop = "shop"

var shopApps = []string{"api", "web"}

// racing has times for which nobody has to wait long, and a gate.
func racing(config *rest.Config, s racetest.Setup, c lease.Config) (lease.Config, error) {
	gate, err := argocd.New(argocd.Config{REST: config, Namespace: s.Namespace, Answer: time.Second, Settle: time.Second,
		Applications: func(context.Context) ([]string, error) { return shopApps, nil }})
	c.Borrow = lease.Timing{Duration: 8 * time.Second, RenewEvery: time.Second}
	c.RequestTimeout, c.RetryPeriod, c.Margin, c.Grace = 700*time.Millisecond, 50*time.Millisecond, time.Second, time.Second
	c.Gate, c.GateTimeout = outspoken{gate}, 2*time.Second
	return c, err
}

// outspoken is a gate that says what it is about to do.
type outspoken struct{ *argocd.Gate }

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
// stands.
func racer(s racetest.Setup, config *rest.Config, c lease.Config) (*racetest.Racer, error) {
	c, err := racing(config, s, c)
	if err != nil {
		return nil, err
	}
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
		return fmt.Errorf("the gate of token %d does not stand until %s: %s", h.Token(), until, p.Spec.SyncWindows)
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
	defer cancel()
	stopEditing := edit(t, c.Kubeconfig(), s.Namespace)

	config, err := racing(c.Config(), s, racetest.Config(c.Config(), s))
	if err != nil {
		t.Fatal(err)
	}
	config.Gate = config.Gate.(outspoken).Gate
	newManager := func(config lease.Config) *lease.Manager {
		m, err := lease.New(config)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := newManager(config)
	config.Gate = nil
	gateless := newManager(config)
	racetest.Race{
		Cluster: c, Setup: s, Manager: m, Mode: lease.ModeBorrow,
		Processes: racetest.Size(20, 100), Rounds: racetest.Size(50, 300), Waiting: 1,
		OnItsWay: config.Grace + time.Second,
		Ended: func() {
			stopEditing()
			// Nobody holds it any more: then one sweep finds what is left.
			h, err := gateless.Acquire(t.Context(), lease.Request{Mode: lease.ModeDeliver, Wait: patience})
			if err == nil {
				err = h.Release(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			_, report, err := m.Sweep(t.Context())
			if err != nil || len(report.Pending) > 0 {
				t.Errorf("the sweep after the race: %+v, %v", report, err)
			}
			t.Logf("the sweep after the race opened %d gates", len(report.Opened))
			asBefore(t, projects, before)
		},
	}.Run(t)
	asBefore(t, projects, before)
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

// answer is as much of Argo CD's controller as the race needs: it looks when it is
// asked to, finds everything in sync, and sometimes begins an operation meanwhile,
// which it ends when it sees it again.
func answer(ctx context.Context, t *testing.T, apps dynamic.ResourceInterface) {
	n := 0
	for ctx.Err() == nil {
		w, err := apps.Watch(ctx, metav1.ListOptions{})
		if err != nil {
			if ctx.Err() == nil {
				t.Errorf("watch the Applications: %v", err)
			}
			return
		}
		for e := range w.ResultChan() {
			a, ok := e.Object.(*unstructured.Unstructured)
			if !ok || e.Type == "DELETED" {
				continue
			}
			running := text(a, "status.operationState.phase") == "Running"
			if !running && a.GetAnnotations()["argocd.argoproj.io/refresh"] == "" && a.Object["operation"] == nil {
				continue
			}
			n++
			source := field(a, "spec.source")
			now := time.Now().UTC().Format(time.RFC3339)
			status := map[string]any{
				"reconciledAt": now, "health": map[string]any{"status": "Healthy"},
				"sync": map[string]any{"status": "Synced", "revision": "c0ffee", "comparedTo": map[string]any{"source": source, "destination": field(a, "spec.destination")}},
			}
			operation := map[string]any{"startedAt": now, "operation": map[string]any{"sync": map[string]any{"revision": "c0ffee"}, "initiatedBy": map[string]any{"automated": true}}}
			switch {
			case running:
				operation["phase"], operation["finishedAt"] = "Succeeded", now
				operation["syncResult"] = map[string]any{"revision": "c0ffee", "source": source}
				status["operationState"] = operation
			case n%10 == 0:
				operation["phase"], operation["finishedAt"] = "Running", nil
				status["operationState"] = operation
			}
			patch := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"argocd.argoproj.io/refresh": nil}}, "operation": nil, "status": status}
			if _, err := apps.Patch(ctx, a.GetName(), types.MergePatchType, jsonOf(t, patch), metav1.PatchOptions{FieldManager: "argocd-controller"}); err != nil && ctx.Err() == nil {
				t.Errorf("answer as Argo CD: %v", err)
			}
		}
	}
}

// editorVariable has the test program be an editor: somebody who edits a project's
// windows all the time. It holds what it edits.
const editorVariable = "PHAROS_TEST_EDITOR"

type editing struct{ Kubeconfig, Namespace string }

// edit starts an editor, which the returned function ends.
func edit(t *testing.T, kubeconfig, namespace string) (stop func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), editorVariable+"="+string(jsonOf(t, editing{kubeconfig, namespace})))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = in.Close()
		said, _ := io.ReadAll(out)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the editor: %v", err)
		}
		t.Logf("the editor edited the project %s times", strings.TrimSpace(string(said)))
	})
	t.Cleanup(stop)
	return stop
}

// runEditor adds windows to a project and removes them, each time as Argo CD's
// command line does: it reads the project and replaces it. Whatever is not of a
// lease has to be as it left it. When its input ends, it removes what it added.
func runEditor(text string) error {
	var e editing
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", e.Kubeconfig)
	if err != nil {
		return err
	}
	projects, err := resources(config, e.Namespace, "appprojects")
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		}
	}()
	ticks := time.NewTicker(100 * time.Millisecond)
	defer ticks.Stop()
	var left []string // what is not of a lease
	edits := 0
	for over := false; ; {
		p, err := projects.Get(context.Background(), shop, metav1.GetOptions{})
		if err != nil {
			return err
		}
		windows, _, err := unstructured.NestedSlice(p.Object, "spec", "syncWindows")
		if err != nil {
			return err
		}
		own := func(w any) bool { return strings.Contains(fmt.Sprint(w), "edited-") }
		others := notOfLeases(windows)
		if left != nil && !slices.Equal(others, left) {
			return fmt.Errorf("the windows of others are %q, and were left as %q", others, left)
		}
		mine := len(slices.DeleteFunc(slices.Clone(windows), func(w any) bool { return !own(w) }))
		if over && mine == 0 {
			fmt.Println(edits)
			return nil
		}
		if i := slices.IndexFunc(windows, own); i >= 0 && (over || mine > 2) {
			windows = slices.Delete(windows, i, i+1)
		} else {
			windows = append(windows, map[string]any{"kind": "deny", "schedule": fmt.Sprintf("%d 4 * * *", edits%60), "duration": "1h", "applications": []any{fmt.Sprintf("edited-%d", edits)}})
		}
		if err := unstructured.SetNestedSlice(p.Object, windows, "spec", "syncWindows"); err != nil {
			return err
		}
		_, err = projects.Update(context.Background(), p, metav1.UpdateOptions{FieldManager: "argocd"})
		switch {
		case apierrors.IsConflict(err):
			left = others
			continue
		case err != nil:
			return err
		}
		left = notOfLeases(windows)
		edits++
		if !over {
			select {
			case <-ticks.C:
			case <-ended:
				over = true
			}
		}
	}
}

// notOfLeases are the windows that have no mark of a lease.
func notOfLeases(windows []any) []string {
	var others []string
	for _, w := range windows {
		data, err := json.Marshal(w)
		if err != nil || !strings.Contains(string(data), keys.LeaseWindow) {
			others = append(others, string(data))
		}
	}
	return others
}
