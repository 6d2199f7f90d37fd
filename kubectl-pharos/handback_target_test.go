package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// leftTakenOver is a repository of a target whose Deployment api somebody has taken over, who
// is gone or still has the lease.
func leftTakenOver(t *testing.T, gone bool) (dir, ns string, handback func(args ...string) (code int, out, errOut string)) {
	t.Helper()
	c := devtest.Cluster(t)
	ns = devtest.Namespace(t, c)
	dir = repository(t, map[string]string{"pharos.yaml": `apiVersion: pharos.dev/v1alpha1
kind: Catalogue
images: []
---
apiVersion: pharos.dev/v1alpha1
kind: Target
metadata: {name: devbox}
spec:
  namespace: ` + ns + `
  registry: {push: "127.0.0.1:1/shop", insecure: true}
  overlay: gitops
`, "gitops/kustomization.yaml": "resources: []\n"})
	held := taking(t, c, ns)
	if gone {
		if err := held.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	kubeconfig := devtest.Kubeconfig(t, c.Config())
	return dir, ns, func(args ...string) (int, string, string) {
		t.Helper()
		return plugin(t, kubeconfig, append([]string{"handback", "--repo", dir}, args...)...)
	}
}

// A dry run says what would be put back, and writes nothing.
func TestHandBackDryRun(t *testing.T) {
	t.Parallel()
	_, ns, handback := leftTakenOver(t, true)
	for _, output := range []string{"", "json"} {
		args := []string{"--force", "--dry-run"}
		want := []string{"Deployment " + ns + "/api", "would be put back: /image, /command"}
		if output != "" {
			args, want = []string{"--force", "--dry-run=server", "--output", output}, []string{`"dryRun": true`, `"handedBack": false`, `"outcome": "restored"`, `"/command"`, `"user": "ann@desk"`}
		}
		code, out, errOut := handback(args...)
		for _, text := range want {
			if !strings.Contains(out, text) || code != exitDone {
				t.Errorf("it lacks %q: exit code %d\n%s\n%s", text, code, out, errOut)
			}
		}
	}
	if image := imageIn(t, devtest.Cluster(t), ns); image != agentImage {
		t.Errorf("the image is %s", image)
	}
	// This checkout has taken nothing over.
	if code, _, errOut := handback("--dry-run"); code != exitNotSo || !strings.Contains(errOut, "there is nothing to hand back") {
		t.Errorf("exit code %d: %s", code, errOut)
	}
}

// The lease of a takeover is not released without it: the agents would stay. With --force
// both are handed back.
func TestLeaseOfATakeoverIsNotReleased(t *testing.T) {
	t.Parallel()
	dir, ns, handback := leftTakenOver(t, false)
	c := devtest.Cluster(t)
	kubeconfig := devtest.Kubeconfig(t, c.Config())
	_, holder, _ := plugin(t, kubeconfig, "lease", "show", "--repo", dir, "--output", "jsonpath={.holder}")
	for _, flags := range [][]string{{"--no-wait"}, {"--dry-run"}, {}} {
		args := append([]string{"lease", "release", "--repo", dir, "--holder", holder}, flags...)
		code, _, errOut := plugin(t, kubeconfig, args...)
		if code != exitBlocked || !strings.Contains(errOut, "takeover of ann@desk") || !strings.Contains(errOut, "kubectl pharos handback --force --reason TEXT") {
			t.Errorf("%q: exit code %d: %s", flags, code, errOut)
		}
	}
	if _, after, _ := plugin(t, kubeconfig, "lease", "show", "--repo", dir, "--output", "jsonpath={.holder}"); holder == "" || after != holder {
		t.Errorf("the holder was %q, and is %q", holder, after)
	}
	if image := imageIn(t, c, ns); image != agentImage {
		t.Errorf("the image is %s", image)
	}
	if code, _, errOut := handback("--force", "--reason", "her laptop is gone"); code != exitDone {
		t.Errorf("exit code %d: %s", code, errOut)
	}
}

// Who breaks the lease of a takeover is told that its workloads stay diverted, and what
// puts them back.
func TestBreakLeaseOfATakeover(t *testing.T) {
	t.Parallel()
	dir, ns, _ := leftTakenOver(t, false)
	c := devtest.Cluster(t)
	kubeconfig := devtest.Kubeconfig(t, c.Config())
	if code, _, errOut := plugin(t, kubeconfig, "lease", "break", "--repo", dir, "--reason", "a hotfix", "--dry-run"); code != exitDone || !strings.Contains(errOut, "Deployment "+ns+"/api would stay diverted") {
		t.Errorf("exit code %d: %s", code, errOut)
	}
	code, out, errOut := plugin(t, kubeconfig, "lease", "break", "--repo", dir, "--reason", "a hotfix", "--output", "json")
	for _, text := range []string{"Deployment " + ns + "/api is still diverted", "takeover of ann@desk", "The controller of target devbox puts it back", "kubectl pharos handback --force --reason TEXT"} {
		if code != exitDone || !strings.Contains(errOut, text) {
			t.Errorf("it lacks %q: exit code %d: %s", text, code, errOut)
		}
	}
	if !strings.Contains(out, `"takeover": {`) {
		t.Errorf("a program is not told: %s", out)
	}
	if image := imageIn(t, c, ns); image != agentImage {
		t.Errorf("the image is %s", image)
	}
}

// Who wants to deliver while somebody has a takeover is told how that is handed back, and
// not to release its lease.
func TestHeldByATakeover(t *testing.T) {
	t.Parallel()
	held := &lease.HeldError{Target: "devbox", State: lease.State{Held: true, Mode: lease.ModeBorrow, Holder: "H", User: "ann@desk", Purpose: "takeover of shop/api"}}
	blocked := &lifecycle.BlockedError{Reason: held.Error(), Next: "kubectl pharos lease release", Err: held}
	err := (&shared{}).orOurs(blocked)
	if text := err.Error(); !errors.Is(err, lifecycle.ErrBlocked) || strings.Contains(text, "lease release") || !strings.Contains(text, "kubectl pharos handback --force --reason TEXT") {
		t.Error(text)
	}
}

func TestHandBackByForce(t *testing.T) {
	t.Parallel()
	_, ns, handback := leftTakenOver(t, true)
	if code, _, errOut := handback("--force", "--reason", "her laptop is gone"); code != exitDone || !strings.Contains(errOut, ns+"/api") {
		t.Errorf("exit code %d: %s", code, errOut)
	}
	if image := imageIn(t, devtest.Cluster(t), ns); image != deliveredImage {
		t.Errorf("the image is %s", image)
	}
	if code, _, errOut := handback("--force", "--reason", "again"); code != exitNotSo || !strings.Contains(errOut, "there is nothing to hand back") {
		t.Errorf("exit code %d: %s", code, errOut)
	}
}

// What cannot be read, on the target and in the checkout, is kept, and does not stand in
// the way any more.
func TestHandBackOfWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir, ns, handback := leftTakenOver(t, true)
	secrets := devtest.Client(t, devtest.Cluster(t).Config()).CoreV1().Secrets(ns)
	if _, err := secrets.Patch(t.Context(), journal.ObjectName("devbox"), types.MergePatchType, []byte(`{"stringData":{"session.json":"{"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, ".git", "pharos", "takeover", "journal", "journal.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`{"version":2}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const next = "kubectl pharos handback --force --reason TEXT"
	for _, args := range [][]string{nil, {"--dry-run"}, {"--dry-run", "--force"}} {
		if code, _, errOut := handback(args...); code != exitBlocked || !strings.Contains(errOut, next) {
			t.Errorf("%v: exit code %d: %s", args, code, errOut)
		}
	}
	code, _, errOut := handback("--force", "--reason", "it cannot be read")
	for _, text := range []string{"is kept in Secret " + ns + "/pharos-devbox.takeover.aside-", "is kept in " + filepath.Dir(path), "kubectl pharos reconcile"} {
		if code != exitDone || !strings.Contains(errOut, text) {
			t.Errorf("it lacks %q: exit code %d: %s", text, code, errOut)
		}
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the journal: %v", err)
	}
	if _, err := secrets.Get(t.Context(), journal.ObjectName("devbox"), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the session object: %v", err)
	}
	if code, _, errOut := handback("--force", "--reason", "again"); code != exitNotSo {
		t.Errorf("exit code %d: %s", code, errOut)
	}
}
