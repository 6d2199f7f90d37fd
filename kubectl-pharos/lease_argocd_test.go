package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
)

// argoTest is a checkout whose target Argo CD delivers.
type argoTest struct {
	t       *testing.T
	argo    *devenv.ArgoCD
	dir, ns string
	env     []string
}

func newArgoTest(t *testing.T) *argoTest {
	t.Helper()
	a := devtest.ArgoCD(t)
	c := a.Cluster()
	s := &argoTest{t: t, argo: a, ns: devtest.Namespace(t, c), env: kubeconfigOf(t, c.Config())}
	url := a.GitURL() + "/" + s.ns + ".git"
	s.dir = repository(t, map[string]string{
		"pharos.yaml": fmt.Sprintf("apiVersion: pharos.dev/v1alpha1\nkind: Catalogue\nimages: []\ndelivery: [gitops/**, pharos.yaml]\n---\napiVersion: pharos.dev/v1alpha1\nkind: Target\n"+
			"metadata: {name: %[1]s}\nspec:\n  namespace: %[1]s\n  registry: {push: \"127.0.0.1:1\"}\n  overlay: gitops\n  git: {url: %[2]q}\n  deliver: {argocd: {namespace: %[3]s, root: %[1]s}}\n", s.ns, url, a.Namespace()),
		"gitops/kustomization.yaml": "resources: [apps.yaml]\n",
		"gitops/apps.yaml": fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: %[1]s-api, namespace: %[3]s}\nspec:\n  project: pharos-%[1]s\n"+
			"  source: {repoURL: %[2]q, targetRevision: main, path: gitops/api}\n  destination: {server: \"https://kubernetes.default.svc\", namespace: %[1]s}\n  syncPolicy: {automated: {selfHeal: true}}\n",
			s.ns, url, a.Namespace()),
		"gitops/api/kustomization.yaml": "namespace: " + s.ns + "\nresources: [settings.yaml]\n",
		"gitops/api/settings.yaml":      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {currency: EUR}\n",
	})
	s.git("push", "-q", url, "HEAD:refs/first/shop")
	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	apps := client.Resource(schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}).Namespace(a.Namespace())
	t.Cleanup(func() {
		for _, name := range []string{s.ns, s.ns + "-api"} {
			_ = apps.Delete(context.Background(), name, metav1.DeleteOptions{})
		}
	})
	return s
}

func (s *argoTest) git(args ...string) {
	s.t.Helper()
	git(s.t, s.dir, args...)
}

// pharos runs a command, which has to end with the code and say all of that.
func (s *argoTest) pharos(code int, args []string, says ...string) string {
	s.t.Helper()
	return s.pharosIn(s.dir, code, args, says...)
}

func (s *argoTest) pharosIn(dir string, code int, args []string, says ...string) string {
	s.t.Helper()
	out, got := runs(s.t, dir, s.env, args...)
	if got != code {
		s.t.Fatalf("%v: exit code %d, want %d\n%s", args, got, code, out)
	}
	for _, want := range says {
		if !strings.Contains(out, want) {
			s.t.Errorf("%v: it lacks %q:\n%s", args, want, out)
		}
	}
	return out
}

// edit changes the settings, and waits until Argo CD has seen it.
func (s *argoTest) edit() {
	s.t.Helper()
	maps := devtest.Client(s.t, s.argo.Cluster().Config()).CoreV1().ConfigMaps(s.ns)
	if _, err := maps.Patch(s.t.Context(), "settings", types.MergePatchType, []byte(`{"data":{"currency":"USD"}}`), metav1.PatchOptions{FieldManager: "by-hand"}); err != nil {
		s.t.Fatal(err)
	}
	for {
		var st struct{ Applications []struct{ Name, Sync string } }
		out, _ := runs(s.t, s.dir, s.env, "status", "-o", "json")
		if err := json.Unmarshal([]byte(out), &st); err != nil {
			s.t.Fatalf("%v: %s", err, out)
		}
		for _, a := range st.Applications {
			if a.Name == s.ns+"-api" && a.Sync == "OutOfSync" {
				return
			}
		}
	}
}

func (s *argoTest) settings() *corev1.ConfigMap {
	s.t.Helper()
	cm, err := devtest.Client(s.t, s.argo.Cluster().Config()).CoreV1().ConfigMaps(s.ns).Get(s.t.Context(), "settings", metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return cm
}

// back wants the settings to be what was delivered, and the target to be live.
func (s *argoTest) back() {
	s.t.Helper()
	if got := s.settings().Data["currency"]; got != "EUR" {
		s.t.Errorf("the currency is %s", got)
	}
	s.pharos(exitDone, []string{"status"}, ", applied and live (receipt ", " 0 not healthy, 0 drifted")
}

// One Application of Argo CD is borrowed from the command line and edited, and comes
// back when it is released, when the lease is broken, and when a command that held it
// was killed.
func TestLeaseWithArgoCD(t *testing.T) {
	t.Parallel()
	s := newArgoTest(t)
	app := s.ns + "-api"
	s.pharos(exitDone, []string{"deploy"})
	s.pharos(exitDone, []string{"__complete", "lease", "acquire", "--purpose", "a look", ""}, s.ns+"\n"+app+"\n")
	s.pharos(exitDone, []string{"__complete", "lease", "acquire", "--purpose", "a look", app, ""}, "\n:4\n")
	s.pharos(exitDone, []string{"__complete", "lease", "acquire", "--purpose", "a look", "--exec", "--", "ma"}, ":0\n")
	s.pharos(exitDone, []string{"__complete", "lease", "acquire", "--purpose", "a look", "--exec", "--", "make", ""}, ":0\n")
	if out, want := s.pharos(exitUsage, []string{"lease", "acquire", "NOPE", "--purpose", "a look"}),
		"error: borrow: Application NOPE: not one of the target's, which are "+s.ns+", "+app+"\nName those that the lease is to cover, or none, for all.\n"; out != want {
		t.Errorf("it says\n%s\nwant\n%s", out, want)
	}
	s.pharos(exitDone, []string{"lease", "acquire", app, "--purpose", "a look", "--dry-run"}, "it would cover "+app+"\n")

	s.pharos(exitDone, []string{"lease", "acquire", app, "--for", "1h", "--purpose", "a look", "--wait", "2m"}, ": borrow, held by ", "covers "+app+"\n")
	s.edit()
	s.pharos(exitNotSo, []string{"status"}, "covers "+app+"\n", "AppProject "+s.argo.Namespace()+"/pharos-"+s.ns+" is closed for "+app+" until ")
	s.pharos(exitNotSo, []string{"status", "-o", "json"}, `"gate": [`, `"covers": [`)
	s.pharos(exitDone, []string{"lease", "renew", "--for", "2h"}, " left): a look")
	s.pharos(exitDone, []string{"lease", "show"}, "is closed for "+app+" until ")
	s.pharos(exitBlocked, []string{"reconcile"}, "Hand it back first: kubectl pharos lease release")
	s.pharos(exitDone, []string{"lease", "release", "--dry-run"}, "would be handed back: borrow")
	s.pharos(exitDone, []string{"lease", "release"}, "opened AppProject ", ": free, handed back; "+app+" as receipt ")
	s.back()

	// Somebody breaks it, from another checkout.
	s.pharos(exitDone, []string{"lease", "acquire", "--purpose", "a long look", "--wait", "2m"}, "covers "+s.ns+", "+app+"\n")
	s.edit()
	clone := filepath.Join(t.TempDir(), "clone")
	s.git("clone", "-q", s.dir, clone)
	s.pharosIn(clone, exitDone, []string{"lease", "break", "--reason", "a hotfix"}, ": broken, which was borrow, held by ", "opened AppProject ")
	s.pharos(exitNotSo, []string{"lease", "release"}, "broke it at ", ": a hotfix")
	s.back()
	s.pharos(exitDone, []string{"status"}, " brok", ": a hotfix")

	// A command that holds it is killed.
	p := start(t, s.dir, s.env, "lease", "acquire", app, "--purpose", "a test", "--wait", "2m", "--exec", "--", "sh", "-c", waits)
	p.await("ready")
	s.edit()
	if stderr, code := p.end(syscall.SIGKILL); code != -1 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	s.pharos(exitNotSo, []string{"status"}, "is closed for "+app+" until ")
	s.pharos(exitDone, []string{"lease", "release"}, ": free, handed back; "+app+" as receipt ")
	s.back()

	// A hand-back is interrupted when the window has ended: the next one finishes it.
	s.pharos(exitDone, []string{"lease", "acquire", app, "--purpose", "a look", "--wait", "2m"})
	s.edit()
	proxy, slow := behind(t, s.argo.Cluster())
	asked := proxy.Add(faultproxy.Rule{Method: http.MethodPatch, Path: regexp.MustCompile("/applications/" + app), Times: 1, AfterUpstream: true, Do: faultproxy.Stall()})
	p = start(t, s.dir, slow, "lease", "release")
	<-asked.Reached()
	if stderr, code := p.end(os.Interrupt); code != exitInterrupted {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	s.pharos(exitDone, []string{"lease", "show"}, ": free\n", "left over of an earlier lease: AppProject ", "which was opened at ")
	if kept, err := os.ReadDir(filepath.Join(s.dir, ".git", "pharos", "leases")); err != nil || len(kept) > 0 {
		t.Errorf("a holder is kept whose lease was released: %v, %v", kept, err)
	}
	s.pharos(exitDone, []string{"lease", "release", "--dry-run"}, "would be finished: what an earlier lease left over, AppProject ")
	s.pharos(exitDone, []string{"lease", "release"}, "finishing what an earlier lease left over: AppProject ", ": free, and nothing of an earlier lease is left over")
	s.back()
	s.pharos(exitNotSo, []string{"lease", "release"}, "there is nothing to release")

	// Nobody has to wait, and what runs next takes away what is left.
	s.pharos(exitDone, []string{"lease", "acquire", app, "--purpose", "a look", "--wait", "2m"})
	s.pharos(exitDone, []string{"lease", "release", "--no-wait", "-o", "json"}, `"held": false`)
	s.pharos(exitDone, []string{"lease", "acquire", app, "--purpose", "once more", "--wait", "2m"})
	s.pharos(exitDone, []string{"lease", "release"})
	s.back()
}

// The walk-through of the page on leases does what the page says.
func TestLeasesPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/leases.md")
	if err != nil {
		t.Fatal(err)
	}
	_, walk, _ := strings.Cut(string(page), "\n## Borrow a target\n")
	walk, _, _ = strings.Cut(walk, "\n## ")
	blocks := codeBlock.FindAllStringSubmatch(walk, -1)
	if len(blocks) != 3 {
		t.Fatalf("the walk-through has %d blocks of commands", len(blocks))
	}
	s := newArgoTest(t)
	s.pharos(exitDone, []string{"deploy"})
	for i, block := range blocks {
		for line := range strings.Lines(strings.ReplaceAll(block[2], "devbox-api", s.ns+"-api")) {
			script := "kubectl() { shift; " + program + ` "$@"; }` + "\n" + line
			cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
			cmd.Dir, cmd.Env = s.dir, append(os.Environ(), s.env...)
			want := exitDone
			if strings.Contains(line, " status") {
				want = exitNotSo // it has drifted
			}
			if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != want {
				t.Fatalf("%s: exit code %d, want %d\n%s", line, cmd.ProcessState.ExitCode(), want, out)
			}
		}
		if i == 0 {
			s.edit()
		}
	}
	s.back()
}
