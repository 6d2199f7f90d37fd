package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
)

// deployedController deploys a target whose document asks this of its controller, and
// runs what deploy has installed, as the account that it has installed.
func deployedController(t *testing.T, c *devenv.Cluster, target, asked string) *replica {
	t.Helper()
	dir := askingRepository(t, target, asked)
	if code, _, errOut := plugin(t, devtest.Kubeconfig(t, c.Config()), "deploy", "--repo", dir, "--controller-image", "registry.invalid/pharos"); code != exitDone {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
	admin := devtest.Client(t, c.Config())
	d, err := admin.AppsV1().Deployments(target).Get(t.Context(), "pharos-"+target+"-controller", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := d.Spec.Template.Spec
	token, err := admin.CoreV1().ServiceAccounts(target).CreateToken(t.Context(), pod.ServiceAccountName, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(c.Config())
	config.BearerToken = token.Status.Token
	args := pod.Containers[0].Args
	for i, a := range args {
		if strings.HasPrefix(a, "--health-address=") {
			args[i] = "--health-address=127.0.0.1:0"
		}
	}
	return startController(t, devtest.Kubeconfig(t, config), args...)
}

// askingRepository is one whose target, in the namespace of its name, asks this of its
// controller.
func askingRepository(t *testing.T, target, asked string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"pharos.yaml": `apiVersion: pharos.dev/v1alpha1
kind: Catalogue
images: []
---
apiVersion: pharos.dev/v1alpha1
kind: Target
metadata: {name: ` + target + `}
spec:
  namespace: ` + target + `
  registry: {push: "` + devtest.Registry(t) + `/shop", insecure: true}
  overlay: gitops
  controller: ` + asked + "\n",
		"gitops/kustomization.yaml": "namespace: " + target + "\nresources: [objects.yaml]\n",
		"gitops/objects.yaml":       "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=Shop", "-c", "user.email=shop@example.com", "commit", "-q", "-m", "Open the shop"}} {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

// Without an image there is no controller to ask.
func TestDeployWithoutControllerImage(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns, kubeconfig := devtest.Namespace(t, c), devtest.Kubeconfig(t, c.Config())
	const warning = "warning: the target's spec.controller is not looked at without --controller-image"
	for asked, want := range map[string]bool{"{}": false, "{sweep: [configmaps]}": true, "{inventory: true}": true} {
		code, out, errOut := plugin(t, kubeconfig, "deploy", "--repo", askingRepository(t, ns, asked), "--print", "all")
		if code != exitDone || strings.Contains(errOut, warning) != want || strings.Contains(out, "--sweep") {
			t.Errorf("%s: exit code %d\n%s", asked, code, errOut)
		}
	}
}

// With one setting of the target, deploy delivers a controller that ends what is
// transient and past its end, with rights for that and nothing else.
func TestDeliveredControllerSweeps(t *testing.T) {
	t.Parallel()
	c := devtest.OwnCluster(t, devenv.Options{}) // it sweeps all namespaces
	admin := devtest.Client(t, c.Config())
	ns, preview := devtest.Namespace(t, c), devtest.Namespace(t, c)
	over := metav1.ObjectMeta{Name: "over", Labels: map[string]string{keys.Intent: "transient"}, Annotations: map[string]string{keys.ExpiresAt: "2020-01-02T03:04:05Z"}}
	stays := over
	stays.Name, stays.Annotations = "stays", map[string]string{keys.TTL: "1d"}
	for _, m := range []metav1.ObjectMeta{over, stays} {
		if _, err := admin.CoreV1().ConfigMaps(preview).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: m}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := admin.CoreV1().Secrets(preview).Create(t.Context(), &corev1.Secret{ObjectMeta: over}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	r := deployedController(t, c, ns, "{sweep: [namespaces, configmaps]}")
	r.says("msg=deleted", preview+"/over")
	end := over
	end.Name = preview + "-ends"
	if _, err := admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: end}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	r.says("msg=deleted", `"Namespace `+end.Name+`"`)
	if m := r.metrics(); !strings.Contains(m, `pharos_sweep_ends_total{result="deleted"} 2`) || strings.Contains(m, "pharos_sweep_gap{") {
		t.Errorf("the metrics are %s", m)
	}
	if rest, code := r.end(syscall.SIGTERM); code != exitDone || strings.Contains(rest, "forbidden") {
		t.Errorf("exit code %d: %s", code, rest)
	}
	if _, err := admin.CoreV1().ConfigMaps(preview).Get(t.Context(), "stays", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := admin.CoreV1().Secrets(preview).Get(context.WithoutCancel(t.Context()), "over", metav1.GetOptions{}); err != nil {
		t.Errorf("what was not asked for: %v", err)
	}
}

// Where the target names a namespace, the controller has rights there and nowhere else,
// and they suffice.
func TestDeliveredControllerSweepsANamespace(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns, preview, other := devtest.Namespace(t, c), devtest.Namespace(t, c), devtest.Namespace(t, c)
	admin := devtest.Client(t, c.Config())
	over := metav1.ObjectMeta{Name: "over", Labels: map[string]string{keys.Intent: "transient"}, Annotations: map[string]string{keys.ExpiresAt: "2020-01-02T03:04:05Z"}}
	for _, in := range []string{preview, other} {
		if _, err := admin.CoreV1().ConfigMaps(in).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: over}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	r := deployedController(t, c, ns, "{sweep: [configmaps], sweepNamespace: "+preview+"}")
	r.says("msg=deleted", preview+"/over")
	if m := r.metrics(); !strings.Contains(m, `pharos_sweep_ends_total{result="deleted"} 1`) || strings.Contains(m, "pharos_sweep_gap{") {
		t.Errorf("the metrics are %s", m)
	}
	if rest, code := r.end(syscall.SIGTERM); code != exitDone || strings.Contains(rest, "forbidden") {
		t.Errorf("exit code %d: %s", code, rest)
	}
	if _, err := admin.CoreV1().ConfigMaps(other).Get(t.Context(), "over", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}
