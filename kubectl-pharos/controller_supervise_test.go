package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/receipt"
)

// preparedController is what deploy makes of a target's controller, all in one namespace.
func preparedController(t *testing.T, c standard.Controller, r lifecycle.PrepareRequest) (args []string, rights devtest.Rights) {
	t.Helper()
	c.Image = "registry.invalid/pharos"
	steps, err := c.Prepare(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range steps[0].Apply {
		var role rbacv1.Role
		var d appsv1.Deployment
		switch o.Kind {
		case "Role":
			err = json.Unmarshal(o.JSON, &role)
			rights.Namespaced = append(rights.Namespaced, role.Rules...)
		case "ClusterRole":
			err = json.Unmarshal(o.JSON, &role)
			rights.ClusterWide = append(rights.ClusterWide, role.Rules...)
		case "Deployment":
			err = json.Unmarshal(o.JSON, &d)
			args = d.Spec.Template.Spec.Containers[0].Args
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, a := range args {
		if strings.HasPrefix(a, "--health-address=") {
			args[i] = "--health-address=127.0.0.1:0"
		}
	}
	return args, rights
}

// startController runs the plugin as a user.
func startController(t *testing.T, kubeconfig string, args ...string) *replica {
	t.Helper()
	r := &replica{process: start(t, t.TempDir(), []string{"KUBECONFIG=" + kubeconfig}, args...)}
	r.lines.Buffer(nil, 1<<20)
	r.lines.Split(bufio.ScanLines)
	r.address = strings.TrimPrefix(r.says("serving health on "), "serving health on ")
	return r
}

// workloads creates one of each kind, whose pods do not become ready.
func workloads(t *testing.T, c *devenv.Cluster, ns string) {
	t.Helper()
	apps, one := devtest.Client(t, c.Config()).AppsV1(), int32(1)
	labels := func(name string) map[string]string { return map[string]string{"app": name} }
	template := func(name string) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels(name), Annotations: map[string]string{"hollow.pharos.dev/waiting": "CrashLoopBackOff"}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "registry.invalid/app"}}}}
	}
	is := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Labels: map[string]string{keys.Supervise: keys.SuperviseTrue}}
	}
	_, err := apps.Deployments(ns).Create(t.Context(), &appsv1.Deployment{ObjectMeta: is("api"), Spec: appsv1.DeploymentSpec{
		Replicas: &one, Selector: &metav1.LabelSelector{MatchLabels: labels("api")}, Template: template("api")}}, metav1.CreateOptions{})
	if err == nil {
		_, err = apps.StatefulSets(ns).Create(t.Context(), &appsv1.StatefulSet{ObjectMeta: is("db"), Spec: appsv1.StatefulSetSpec{
			Replicas: &one, Selector: &metav1.LabelSelector{MatchLabels: labels("db")}, Template: template("db")}}, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = apps.DaemonSets(ns).Create(t.Context(), &appsv1.DaemonSet{ObjectMeta: is("log"), Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels("log")}, Template: template("log")}}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// What deploy installs for a target whose workloads ask for it restarts them, with the
// rights that it has and no others, and each of them is used.
func TestControllerSupervises(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	workloads(t, c, ns)
	api := receipt.Object{Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Namespace: ns, Name: "api"}
	args, rights := preparedController(t, standard.Controller{}, lifecycle.PrepareRequest{Target: "devbox", Namespace: ns, Resolved: []receipt.Object{api},
		Objects: []lifecycle.Object{{Group: "apps", Version: "v1", Kind: "Deployment", Name: "api", JSON: []byte(`{"metadata":{"name":"api","labels":{"pharos.dev/supervise":"true"}}}`)}}})
	config, user := devtest.User(t, c, ns, rights)
	audit := devtest.RecordAudit(t, c)
	r := startController(t, devtest.Kubeconfig(t, config), append(args, "--supervise-patience=1ns")...)
	for range 3 {
		r.says("msg=restarted", ns+"/", "restarts=1")
	}
	if m := r.metrics(); !strings.Contains(m, "pharos_supervise_restarts_total 3") || !strings.Contains(m, "pharos_supervise_failures_total 0") || !strings.Contains(m, "pharos_supervise_workloads 3") {
		t.Errorf("the metrics are %s", m)
	}
	if rest, code := r.end(syscall.SIGTERM); code != exitDone || strings.Contains(rest, "level=WARN") {
		t.Errorf("exit code %d: %s", code, rest)
	}
	used := map[string]bool{}
	for _, e := range audit.Events(t, devtest.ByUser(user)) {
		used[e.Verb+" "+e.Resource] = true
		if e.Code == http.StatusForbidden {
			t.Errorf("%s %s was forbidden", e.Verb, e.RequestURI)
		}
		if uid, version := e.Preconditions(); e.Verb == "delete" && (uid == "" || version == "") {
			t.Errorf("%s was deleted without preconditions", e.RequestURI)
		}
	}
	for _, rule := range rights.Namespaced {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				// Only leases have events, and only takeovers are written to their Secret.
				if resource != "events" && resource != "secrets" && !used[verb+" "+resource] {
					t.Errorf("the right to %s %s is given and not used", verb, resource)
				}
			}
		}
	}
}

// Flags that do not fit are named, before a cluster is asked.
func TestControllerSuperviseFlags(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"--supervise needs --leader-lease":                        {"--supervise=shop"},
		"--supervise-patience is 0s, and has to be more than 0":   {"--supervise=shop", "--leader-lease=a/b", "--supervise-patience=0s"},
		"--supervise-patience without --supervise: nothing is su": {"--supervise-patience=1m"},
	} {
		p := start(t, t.TempDir(), []string{"KUBECONFIG=" + os.DevNull}, append([]string{"controller", "--health-address=127.0.0.1:0"}, args...)...)
		if said, code := p.rest(); code == exitDone || !strings.Contains(said, want) {
			t.Errorf("%v: exit code %d, and not %q: %s", args, code, want, said)
		}
	}
}
