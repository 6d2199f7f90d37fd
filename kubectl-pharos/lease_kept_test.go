package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
)

var leases = regexp.MustCompile(`/leases(/|$)`)

// behind is a way to the cluster that a test can stop.
func behind(t *testing.T, c *devenv.Cluster) (*faultproxy.Proxy, []string) {
	t.Helper()
	proxy, err := faultproxy.ForCluster(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	return proxy, kubeconfigOf(t, proxy.Config(c.Config()))
}

func kubeconfigOf(t *testing.T, cfg *rest.Config) []string {
	return []string{"KUBECONFIG=" + devtest.Kubeconfig(t, cfg)}
}

// runs is a command that is waited for.
func runs(t *testing.T, dir string, env []string, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	data, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(data), cmd.ProcessState.ExitCode()
}

// Where the holder's ID cannot be kept, as on a disk that is full, nothing is acquired.
func TestHolderCannotBeKept(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"lease":       {"lease", "acquire", "--purpose", "a look"},
		"exec":        {"lease", "acquire", "--purpose", "a look", "--exec", "--", "echo", "it ran"},
		"maintenance": {"maintenance", "on", "--reason", "works"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := devtest.Cluster(t)
			dir, env := waitingRepository(t, devtest.Namespace(t, c)), kubeconfigOf(t, c.Config())
			full := exec.CommandContext(t.Context(), "sh", append([]string{"-c", `ulimit -f 0; exec "$0" "$@"`, program}, args...)...)
			full.Dir, full.Env = dir, append(os.Environ(), env...)
			out, _ := full.CombinedOutput()
			folder := filepath.Join(dir, ".git", "pharos", "leases")
			want := []string{"nothing was acquired", "file too large", "Make sure that files can be written in " + folder}
			if code := full.ProcessState.ExitCode(); code != exitUsage || slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(string(out), w) }) || strings.Contains(string(out), "it ran") {
				t.Errorf("exit code %d, want %d and %q:\n%s", code, exitUsage, want, out)
			}
			if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
				t.Errorf("there are left %v, %v", left, err)
			}
			if out, code := runs(t, dir, env, "lease", "show"); code != exitDone || !strings.Contains(out, ": free") {
				t.Errorf("lease show: exit code %d\n%s", code, out)
			}
		})
	}
}

// Of two commands at once in one checkout one acquires the lease and is killed right
// then. What it kept is still there when the other one has been refused.
func TestHolderIsKept(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		acquire []string
		end     []string
	}{
		{"maintenance", []string{"maintenance", "on", "--reason", "works"}, []string{"maintenance", "off"}},
		{"lease", []string{"lease", "acquire", "--purpose", "a look"}, []string{"lease", "release"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := devtest.Cluster(t)
			ns := devtest.Namespace(t, c)
			dir := waitingRepository(t, ns)

			// Both keep their holders, the one that wins first.
			proxy, unheard := behind(t, c)
			kept := proxy.Add(faultproxy.Rule{Path: regexp.MustCompile(`/namespaces/` + ns + `$`), Do: faultproxy.Stall()})
			acquired := proxy.Add(faultproxy.Rule{Method: http.MethodPut, Path: leases, AfterUpstream: true, Do: faultproxy.Stall()})
			winner := start(t, dir, unheard, tc.acquire...)
			<-kept.Reached()
			proxy, slow := behind(t, c)
			asked := proxy.Add(faultproxy.Rule{Method: http.MethodPost, Path: leases, Do: faultproxy.Stall()})
			loser := start(t, dir, slow, tc.acquire...)
			<-asked.Reached()
			kept.Release()
			<-acquired.Reached()
			if _, code := winner.end(syscall.SIGKILL); code != -1 {
				t.Fatalf("the first one ended by itself, with %d", code)
			}
			asked.Release()
			if _, code := loser.rest(); code != exitBlocked {
				t.Fatalf("the other one ends with %d", code)
			}
			if out, code := runs(t, dir, kubeconfigOf(t, c.Config()), tc.end...); code != exitDone {
				t.Errorf("%v: exit code %d\n%s", tc.end, code, out)
			}
			if left, err := os.ReadDir(filepath.Join(dir, ".git", "pharos", "leases")); err != nil || len(left) > 0 {
				t.Errorf("there are left %v, %v", left, err)
			}
		})
	}
}
