//go:build linux

package devenv_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// withArgoCD is the value of parentVariable for an Argo CD. It and its Git server are told, not its cluster.
const withArgoCD = "argocd"

func init() { parents[withArgoCD] = argoCDParent }

func argoCDParent(ctx context.Context) (parent, error) {
	c, err := devenv.Start(ctx, devenv.Options{NoNode: true})
	if err != nil {
		return parent{}, err
	}
	a, err := devenv.StartArgoCD(ctx, c, devenv.ArgoCDOptions{})
	if err != nil {
		return parent{}, err
	}
	return parent{StateDir: a.StateDir(), Server: a.GitURL(), PID: a.PID()}, nil
}

// programsOf are the processes in whose command lines the folder is.
func programsOf(t *testing.T, stateDir string) (pids []string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if b, err := os.ReadFile(line); err == nil && bytes.Contains(b, []byte(stateDir)) {
			pids = append(pids, filepath.Base(filepath.Dir(line)))
		}
	}
	return pids
}

func awaitNoProgramOf(t *testing.T, stateDir string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return len(programsOf(t, stateDir)) == 0, nil
	})
	if err != nil {
		t.Fatalf("processes %v of %s are still there: %v", programsOf(t, stateDir), stateDir, err)
	}
}

func TestKilledParentLeavesNothingOfArgoCD(t *testing.T) {
	t.Parallel()
	p, kill := startParent(t, withArgoCD)
	if n := len(programsOf(t, p.StateDir)); n < 4 {
		t.Errorf("%d processes are seen to belong to Argo CD, want itself, its two parts and a redis", n)
	}
	kill()
	awaitGone(t, p.PID)
	awaitNoProgramOf(t, p.StateDir)
	wantNothingAt(t, p.StateDir, p.Server)
}

func TestKilledArgoCDTakesItsProgramsAlong(t *testing.T) {
	t.Parallel()
	p, kill := startParent(t, withArgoCD)
	if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitNoProgramOf(t, p.StateDir)
	kill()
	if _, err := os.Stat(p.StateDir); err != nil {
		t.Fatalf("the killed Argo CD's folder is gone already: %v", err)
	}
	devtest.OwnCluster(t, devenv.Options{NoNode: true})
	wantNothingAt(t, p.StateDir, p.Server)
}

func TestStoppedArgoCD(t *testing.T) {
	t.Parallel()
	c := devtest.OwnCluster(t, devenv.Options{NoNode: true})
	a, err := devenv.StartArgoCD(t.Context(), c, devenv.ArgoCDOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.PauseController(t.Context()); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := a.Stop(); err != nil {
			t.Errorf("stop while the controller is paused: %v", err)
		}
	}
	wantNothingAt(t, a.StateDir(), a.GitURL())
	if len(programsOf(t, a.StateDir())) > 0 {
		t.Error("programs of it are still there")
	}
	if err := a.StartController(t.Context()); !errors.Is(err, devenv.ErrStopped) {
		t.Errorf("start the controller afterwards: got %v, want ErrStopped", err)
	}
}

func TestArgoCDWantsAClusterOfItsProcess(t *testing.T) {
	c := devtest.Cluster(t)
	t.Setenv("KUBECONFIG", c.Kubeconfig())
	existing, err := devenv.Existing(c.ContextName(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := devenv.StartArgoCD(t.Context(), existing, devenv.ArgoCDOptions{}); !errors.Is(err, devenv.ErrNotStarted) {
		t.Errorf("got %v, want ErrNotStarted", err)
	}
}
