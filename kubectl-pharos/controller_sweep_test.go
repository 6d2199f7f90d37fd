package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
)

// sweepExample is what examples/controller-sweep runs, and with which rights.
func sweepExample(t *testing.T) (args []string, own, everywhere []rbacv1.PolicyRule) {
	t.Helper()
	rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "../examples/controller-sweep")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rendered.Resources() {
		raw, err := r.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var role rbacv1.Role
		var o unstructured.Unstructured
		switch {
		case r.GetKind() == "Role":
			err = json.Unmarshal(raw, &role)
			own = append(own, role.Rules...)
		case r.GetKind() == "ClusterRole":
			err = json.Unmarshal(raw, &role)
			everywhere = append(everywhere, role.Rules...)
		case r.GetKind() == "Deployment":
			err = o.UnmarshalJSON(raw)
			containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
			args, _, _ = unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return args, own, everywhere
}

// The example's controller ends what its flags name, with the rights that it has and
// no others, and each of them is used.
func TestControllerSweepRights(t *testing.T) {
	t.Parallel()
	c := devtest.OwnCluster(t, devenv.Options{}) // without the kinds of other tests, which may not be looked at
	admin := devtest.Client(t, c.Config())
	home, ns := devtest.Namespace(t, c), devtest.Namespace(t, c)
	args, own, everywhere := sweepExample(t)
	config, user := devtest.User(t, c, home, devtest.Rights{Namespaced: own, ClusterWide: everywhere})
	audit := devtest.RecordAudit(t, c)
	past := metav1.ObjectMeta{Name: "over", Labels: map[string]string{keys.Intent: "transient"}, Annotations: map[string]string{keys.ExpiresAt: "2020-01-02T03:04:05Z"}}
	pod := corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "registry.example/main"}}}
	_, err := admin.CoreV1().ConfigMaps(ns).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: past}, metav1.CreateOptions{})
	if err == nil {
		_, err = admin.CoreV1().Pods(ns).Create(t.Context(), &corev1.Pod{ObjectMeta: past, Spec: pod}, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = admin.BatchV1().Jobs(ns).Create(t.Context(), &batchv1.Job{ObjectMeta: past, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: pod}}}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}

	for i, a := range args {
		switch {
		case strings.HasPrefix(a, "--health-address="):
			args[i] = "--health-address=127.0.0.1:0"
		case strings.HasPrefix(a, "--leader-lease="):
			args[i] = "--leader-lease=" + home + "/pharos.controller"
		}
	}
	args = append(args, "--sweep-namespace="+ns) // other tests are at work in the others
	r := &replica{process: start(t, t.TempDir(), []string{"KUBECONFIG=" + devtest.Kubeconfig(t, config)}, args...)}
	r.lines.Buffer(nil, 1<<20)
	r.lines.Split(bufio.ScanLines)
	r.address = strings.TrimPrefix(r.says("serving health on "), "serving health on ")
	for range 3 {
		r.says("msg=deleted", ns+"/over")
	}
	end := `{"metadata":{"labels":{"` + keys.Intent + `":"transient"},"annotations":{"` + keys.ExpiresAt + `":"2020-01-02T03:04:05Z"}}}`
	if _, err := admin.CoreV1().Namespaces().Patch(t.Context(), ns, types.MergePatchType, []byte(end), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	r.says("msg=deleted", `"Namespace `+ns+`"`)
	if m := r.metrics(); !strings.Contains(m, `pharos_sweep_ends_total{result="deleted"} 4`) || strings.Contains(m, "pharos_sweep_gap{") {
		t.Errorf("the metrics are %s", m)
	}
	if rest, code := r.end(syscall.SIGTERM); code != exitDone {
		t.Errorf("exit code %d: %s", code, rest)
	}

	used := map[string]bool{}
	for _, e := range audit.Events(t, func(e devenv.AuditEvent) bool { return e.User == user && e.Resource != "selfsubjectaccessreviews" }) {
		used[e.Verb+" "+e.Resource] = true
		if e.Code == http.StatusForbidden {
			t.Errorf("%s %s was forbidden", e.Verb, e.RequestURI)
		}
		if uid, version := e.Preconditions(); e.Verb == "delete" && (uid == "" || version == "") {
			t.Errorf("%s was deleted without preconditions", e.RequestURI)
		}
	}
	for _, rule := range append(own, everywhere...) {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				if verb != "list" && !used[verb+" "+resource] {
					t.Errorf("the right to %s %s is given and not used", verb, resource)
				}
			}
		}
	}
	for _, secret := range []string{"get secrets", "list secrets", "watch secrets"} {
		if used[secret] {
			t.Errorf("it did %s", secret)
		}
	}
}

// Where the targets that it watches and their Argo CD live, nothing ends.
func TestControllerSweepSparesHomes(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	for name, home := range map[string][]string{
		"target":   {"--watch-target=HOME/devbox"},
		"Argo CD":  {"--watch-target=OTHER/devbox", "--argocd-namespace=HOME"},
		"as named": {"--protect-namespace=HOME"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns, other := devtest.Namespace(t, c), devtest.Namespace(t, c)
			maps := devtest.Client(t, c.Config()).CoreV1().ConfigMaps(ns)
			over := metav1.ObjectMeta{Name: "over", Labels: map[string]string{keys.Intent: "transient"}, Annotations: map[string]string{keys.ExpiresAt: "2020-01-02T03:04:05Z"}}
			if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: over}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			args := []string{"controller", "--health-address=127.0.0.1:0", "--leader-lease=" + other + "/pharos.controller", "--sweep=configmaps", "--sweep-namespace=" + ns}
			for _, arg := range home {
				args = append(args, strings.NewReplacer("HOME", ns, "OTHER", other).Replace(arg))
			}
			r := &replica{process: start(t, t.TempDir(), []string{"KUBECONFIG=" + devtest.Kubeconfig(t, c.Config())}, args...)}
			r.lines.Buffer(nil, 1<<20)
			r.address = strings.TrimPrefix(r.says("serving health on "), "serving health on ")
			decided := func(context.Context) (bool, error) {
				m := r.metrics()
				return strings.Contains(m, `pharos_sweep_objects{class="refused",resource="configmaps"} 1`) || strings.Contains(m, `pharos_sweep_ends_total{result="deleted"} 1`), nil
			}
			if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, decided); err != nil {
				t.Errorf("%v: %s", err, r.metrics())
			}
			if rest, code := r.end(syscall.SIGTERM); code != exitDone {
				t.Errorf("exit code %d: %s", code, rest)
			}
			if _, err := maps.Get(t.Context(), "over", metav1.GetOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// Flags of the sweep that do not fit are named, before a cluster is asked.
func TestControllerSweepFlags(t *testing.T) {
	t.Parallel()
	kubeconfig := "KUBECONFIG=" + os.DevNull
	for want, args := range map[string][]string{
		"--sweep needs --leader-lease":                          {"--sweep=pods"},
		"--concurrent-deletes, --notify-before without --sweep": {"--concurrent-deletes=3", "--notify-before=1h"},
		`--foreign knows no "janitors"`:                         {"--leader-lease=a/b", "--sweep=pods", "--foreign=janitors"},
		"have to be more than 0":                                {"--leader-lease=a/b", "--sweep=pods", "--deletes-per-second=0"},
	} {
		p := start(t, t.TempDir(), []string{kubeconfig}, append([]string{"controller", "--health-address=127.0.0.1:0"}, args...)...)
		if said, code := p.rest(); code == exitDone || !strings.Contains(said, want) {
			t.Errorf("%v: exit code %d, and not %q: %s", args, code, want, said)
		}
	}
}

// The rules on the page are the example's.
func TestControllerSweepDocumentedRights(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/controller.md")
	if err != nil {
		t.Fatal(err)
	}
	rights, err := os.ReadFile("../examples/controller-sweep/rights.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n### Rights to end\n")
	_, block, _ := strings.Cut(section, "```yaml\nrules:\n")
	block, _, _ = strings.Cut(block, "```")
	rules := strings.Split(strings.TrimSpace(block), "\n")
	if len(rules) < 3 {
		t.Fatalf("the page has only %q", rules)
	}
	for _, rule := range rules {
		if !strings.Contains(string(rights), rule) {
			t.Errorf("the example has no rule %s", rule)
		}
	}
}
