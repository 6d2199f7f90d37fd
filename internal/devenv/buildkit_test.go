//go:build linux

package devenv_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// withBuildKit is the value of parentVariable for a BuildKit in the middle of a build.
const withBuildKit = "buildkit"

func init() { parents[withBuildKit] = buildKitParent }

// buildKitParent starts a BuildKit and a build that does not end.
func buildKitParent(ctx context.Context) (parent, error) {
	b, err := devenv.StartBuildKit(ctx, devenv.BuildKitOptions{})
	if err != nil {
		return parent{}, err
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	image, err := devenv.BusyboxImage(ctx)
	if err != nil {
		return parent{}, err
	}
	base := strings.TrimPrefix(server.URL, "http://") + "/base:1"
	ref, err := name.ParseReference(base, name.Insecure)
	if err != nil {
		return parent{}, err
	}
	if err := remote.Write(ref, image, remote.WithContext(ctx)); err != nil {
		return parent{}, err
	}
	dir := os.Getenv(contextVariable)
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte("FROM "+base+"\nRUN sleep 10000\n"), 0o600); err != nil {
		return parent{}, err
	}
	cmd := exec.Command(b.Buildctl(), "--addr="+b.Address(), "build", "--frontend=dockerfile.v0", "--local=context="+dir, "--local=dockerfile="+dir)
	if err := cmd.Start(); err != nil {
		return parent{}, err
	}
	err = wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return b.Runs("sleep 10000"), nil
	})
	return parent{StateDir: b.StateDir(), PID: b.PID()}, err
}

// contextVariable names the folder for the build's context.
const contextVariable = "DEVENV_TEST_CONTEXT"

// left is what is to be seen of a BuildKit whose folder that was.
func left(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{dir, "/sys/fs/cgroup/" + filepath.Base(dir), "/sys/fs/cgroup/*/" + filepath.Base(dir)} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, process := range processes {
		for _, file := range []string{"cmdline", "cgroup", "mounts"} {
			// One that has ended meanwhile is not left.
			content, err := os.ReadFile(filepath.Join(process, file))
			if err == nil && strings.Contains(string(content), filepath.Base(dir)) {
				all = append(all, filepath.Join(process, file))
			}
		}
	}
	return all
}

func awaitNothing(t *testing.T, dir string) {
	t.Helper()
	var last []string
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		last = left(t, dir)
		return len(last) == 0, nil
	})
	if err != nil {
		t.Errorf("it left %q: %v", last, err)
	}
}

func TestKilledParentLeavesNothingOfBuildKit(t *testing.T) {
	devtest.BuildKit(t) // or this is skipped
	t.Setenv(contextVariable, t.TempDir())
	p, kill := startParent(t, withBuildKit)
	if len(left(t, p.StateDir)) < 3 {
		t.Fatalf("only %q is to be seen of it", left(t, p.StateDir))
	}
	kill()
	awaitNothing(t, p.StateDir)
}

func TestNextBuildKitSweepsWhatAHardKillLeft(t *testing.T) {
	devtest.BuildKit(t)
	t.Setenv(contextVariable, t.TempDir())
	p, kill := startParent(t, withBuildKit)
	if err := syscall.Kill(-p.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	kill()
	if _, err := os.Stat(p.StateDir); err != nil {
		t.Fatalf("its folder is gone already: %v", err)
	}
	living := devtest.OwnBuildKit(t, devenv.BuildKitOptions{})
	awaitNothing(t, p.StateDir)

	// Another start leaves the living one alone.
	devtest.OwnBuildKit(t, devenv.BuildKitOptions{})
	if out, err := exec.CommandContext(t.Context(), living.Buildctl(), "--addr="+living.Address(), "debug", "workers").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestStoppedBuildKitLeavesNothing(t *testing.T) {
	b := devtest.OwnBuildKit(t, devenv.BuildKitOptions{})
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	if all := left(t, b.StateDir()); len(all) > 0 {
		t.Errorf("it left %q", all)
	}
	if err := b.Resume(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("started again: %v", err)
	}
}
