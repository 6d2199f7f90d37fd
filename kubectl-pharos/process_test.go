package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// process is a run of the plugin in a process of its own.
type process struct {
	*exec.Cmd
	t      *testing.T
	lines  *bufio.Scanner // of stderr
	stdout bytes.Buffer
}

func start(t *testing.T, dir string, env []string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.CommandContext(t.Context(), program, args...), t: t}
	p.Dir, p.Env, p.Cmd.Stdout = dir, append(os.Environ(), env...), &p.stdout
	stderr, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewScanner(stderr)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// await reads stderr up to a line that begins so, and returns the line.
func (p *process) await(begin string) string {
	p.t.Helper()
	for p.lines.Scan() {
		if strings.HasPrefix(p.lines.Text(), begin) {
			return p.lines.Text()
		}
	}
	p.t.Fatalf("stderr ends without a line that begins with %q", begin)
	return ""
}

// end sends a signal and returns the rest of stderr and the exit code.
func (p *process) end(s os.Signal) (stderr string, code int) {
	p.t.Helper()
	if err := p.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
	return p.rest()
}

// rest waits for the end and returns the rest of stderr and the exit code.
func (p *process) rest() (stderr string, code int) {
	p.t.Helper()
	var rest strings.Builder
	for p.lines.Scan() {
		rest.WriteString(p.lines.Text() + "\n")
	}
	if err := p.Wait(); err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return rest.String(), exit.ExitCode()
		}
		p.t.Fatal(err)
	}
	return rest.String(), 0
}

func TestController(t *testing.T) {
	t.Parallel()
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			p := start(t, t.TempDir(), nil, "controller", "--health-address", "127.0.0.1:0")
			address := strings.TrimPrefix(p.await("serving health on "), "serving health on ")
			for _, path := range []string{"/healthz", "/readyz"} {
				resp, err := http.Get("http://" + address + path)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if err != nil || resp.StatusCode != http.StatusOK || string(body) != "ok\n" {
					t.Errorf("%s: got %d %q, error %v", path, resp.StatusCode, body, err)
				}
			}
			again := exec.Command(program, "controller", "--health-address", address)
			out, err := again.CombinedOutput()
			if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != exitUsage || !strings.Contains(string(out), "--health-address") {
				t.Errorf("on a taken address: %v\n%s", err, out)
			}
			if stderr, code := p.end(signal); code != exitDone {
				t.Errorf("exit code %d: %s", code, stderr)
			}
		})
	}
}

// TestControllerElectsALeader has one lead under the rights that deploy gives it,
// and give the leadership back when it ends.
func TestControllerElectsALeader(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	config, _ := devtest.User(t, c, ns, devtest.Rights{Namespaced: []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "update"}, ResourceNames: []string{"pharos-shop.controller"}},
	}})
	p := start(t, t.TempDir(), []string{"KUBECONFIG=" + devtest.Kubeconfig(t, config)}, "controller", "--health-address", "127.0.0.1:0", "--leader-lease", ns+"/pharos-shop.controller")
	p.await("serving health on ")
	for !strings.Contains(p.await("time="), "msg=leading") {
	}
	leases := devtest.Client(t, c.Config()).CoordinationV1().Leases(ns)
	if l, err := leases.Get(t.Context(), "pharos-shop.controller", metav1.GetOptions{}); err != nil || l.Spec.HolderIdentity == nil {
		t.Errorf("while it leads: %v, %v", l, err)
	}
	if stderr, code := p.end(syscall.SIGTERM); code != exitDone {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if l, err := leases.Get(t.Context(), "pharos-shop.controller", metav1.GetOptions{}); err != nil || l.Spec.HolderIdentity != nil {
		t.Errorf("when it has ended: %v, %v", l, err)
	}
}

// TestInterrupt interrupts a delivery while it waits for a target that does not
// become healthy.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			c := devtest.Cluster(t)
			ns := devtest.Namespace(t, c)
			dir, env := waitingRepository(t, ns), []string{"KUBECONFIG=" + devtest.Kubeconfig(t, c.Config())}

			p := start(t, dir, env, "deploy")
			p.await("waiting for Deployment " + ns + "/api: ")
			stderr, code := p.end(signal)
			if code != exitInterrupted || !strings.Contains(stderr, "error: ") || !strings.HasSuffix(stderr, "\ninterrupted\n") || p.stdout.Len() > 0 {
				t.Errorf("exit code %d, stdout %q, stderr:\n%s", code, p.stdout.String(), stderr)
			}
			show := exec.Command(program, "lease", "show", "-o", "jsonpath={.held}")
			show.Dir, show.Env = dir, append(os.Environ(), env...)
			if held, err := show.CombinedOutput(); err != nil || string(held) != "false" {
				t.Errorf("the lease is held: %s, error %v", held, err)
			}
		})
	}
}

// waitingRepository has a Deployment that no node can run.
func waitingRepository(t *testing.T, ns string) string {
	t.Helper()
	return repository(t, map[string]string{
		"pharos.yaml": "apiVersion: pharos.dev/v1alpha1\nkind: Catalogue\nimages: []\n---\napiVersion: pharos.dev/v1alpha1\nkind: Target\n" +
			"metadata: {name: " + ns + "}\nspec: {namespace: " + ns + ", registry: {push: \"127.0.0.1:1\"}, overlay: gitops}\n",
		"gitops/kustomization.yaml": "namespace: " + ns + "\nresources: [api.yaml]\n",
		"gitops/api.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: api}\nspec:\n  selector: {matchLabels: {app: api}}\n  template:\n" +
			"    metadata: {labels: {app: api}}\n    spec: {nodeSelector: {nowhere: \"true\"}, containers: [{name: api, image: example.com/api}]}\n",
	})
}

// repository is a folder with files that are committed, on the branch main.
func repository(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "add", "-A")
	git(t, dir, "-c", "user.name=Shop", "-c", "user.email=shop@example.com", "commit", "-q", "-m", "Open the shop")
	return dir
}

// git runs git in a folder, without the machine's own configuration.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// TestHelp wants every command to explain itself, under the name that people
// type.
func TestHelp(t *testing.T) {
	t.Parallel()
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		path := strings.Fields(cmd.CommandPath())[2:]
		t.Run(strings.Join(append([]string{"pharos"}, path...), " "), func(t *testing.T) {
			var out, errOut bytes.Buffer
			code := run(t.Context(), genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &errOut}, append(path, "--help"))
			help := out.String()
			if code != exitDone || errOut.Len() > 0 {
				t.Errorf("exit code %d: %s", code, errOut.String())
			}
			if !strings.Contains(help, "\n  "+cmd.CommandPath()) || !strings.Contains(help, "\nExamples:\n") {
				t.Errorf("no usage or no example:\n%s", help)
			}
			if strings.Contains(help, program) && !strings.Contains(help, "kubectl_complete") {
				t.Errorf("it names the program's file:\n%s", help)
			}
		})
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() && sub.Name() != "help" {
				visit(sub)
			}
		}
	}
	visit(newRoot(genericiooptions.NewTestIOStreamsDiscard()))
}
