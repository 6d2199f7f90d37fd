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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/pharos-dev/pharos/internal/keys"
)

// controller is who Argo CD's controller is, as a writer.
const controller = "argocd-controller"

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
			if _, err := apps.Patch(ctx, a.GetName(), types.MergePatchType, jsonOf(t, patch), metav1.PatchOptions{FieldManager: controller}); err != nil && ctx.Err() == nil {
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
