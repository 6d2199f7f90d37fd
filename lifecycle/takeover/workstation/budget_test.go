//go:build unix

package workstation_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle/supervise"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
	"github.com/pharos-dev/pharos/lifecycle/takeover/runtime"
	"github.com/pharos-dev/pharos/lifecycle/takeover/workstation"
)

// What a takeover has parked stays parked when a process goes on with it that was
// killed; the next takeover of the workload begins with a full budget.
func TestBudgetIsThatOfATakeover(t *testing.T) {
	t.Parallel()
	root, own := t.TempDir(), filepath.Join(t.TempDir(), "own")
	must(t, os.WriteFile(filepath.Join(root, "a"), nil, 0o600))
	store, err := supervise.NewFile(filepath.Join(own, "budget", "one", "shop.api"))
	must(t, err)
	must(t, store.Save(t.Context(), supervise.State{Restarts: 5, Parked: supervise.Parked{Reason: "it has crashed"}}, ""))
	// begin says whether the process is started, and why Start fails if it is not.
	begin := func(session string) (started bool, err error) {
		t.Helper()
		w, err := workstation.New(workstation.Config{REST: &rest.Config{}, Root: root, Folder: own, Environ: os.Environ(), Memory: []string{t.TempDir()}})
		must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		process, err := w.Start(ctx, crashing(t, session, func(e runtime.Event) {
			if e.Type == runtime.EventStarted {
				started = true
				cancel()
			}
		}))
		if err == nil {
			err = process.Stop()
		}
		return started, err
	}
	if started, err := begin("one"); started || err == nil || !strings.Contains(err.Error(), "it has crashed") {
		t.Errorf("what goes on with a takeover that has parked it: started %v, %v", started, err)
	}
	if started, err := begin("two"); !started || err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("the next takeover: started %v, %v", started, err)
	}
	if left, err := os.ReadDir(filepath.Join(own, "budget")); err != nil || len(left) != 1 || left[0].Name() != "two" {
		t.Errorf("the budgets are %v, %v", left, err)
	}
}

// crashing is a workload whose process ends at once.
func crashing(t *testing.T, session string, observed func(runtime.Event)) takeover.StartRequest {
	t.Helper()
	inputs, err := catalogue.ParsePatterns([]string{"a"})
	must(t, err)
	live, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"name": "api", "namespace": "shop"},
		"spec":     map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "main"}}}}},
	})
	must(t, err)
	return takeover.StartRequest{
		Workload: takeover.Workload{Namespace: "shop", Name: "api", Container: "main", Image: "api", Inputs: inputs, Live: live,
			Run: catalogue.Run{Command: []string{"/bin/false"}}},
		Session: wire.Session{ID: session}, Observed: observed, Warned: func(string) {},
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
