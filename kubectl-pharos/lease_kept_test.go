package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
