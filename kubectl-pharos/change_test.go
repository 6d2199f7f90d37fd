package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
)

// plugin runs the plugin against a cluster, from a folder without a repository.
func plugin(t *testing.T, kubeconfig string, args ...string) (code int, out, errOut string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	args = append(args, "--kubeconfig", kubeconfig, "--context", "test", "--cache-dir", t.TempDir())
	code = run(t.Context(), genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &stdout, ErrOut: &stderr}, args)
	return code, stdout.String(), stderr.String()
}

func TestTouchExtendRetain(t *testing.T) {
	t.Parallel()
	cluster := devtest.Cluster(t)
	ns := devtest.Namespace(t, cluster)
	maps := devtest.Client(t, cluster.Config()).CoreV1().ConfigMaps(ns)
	make := func(name string, labels, annotations map[string]string) {
		t.Helper()
		if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: annotations}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	get := func(name string) *corev1.ConfigMap {
		t.Helper()
		m, err := maps.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	config, _ := devtest.User(t, cluster, ns, devtest.Rights{Namespaced: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "patch"}}}})
	kubeconfig := devtest.Kubeconfig(t, config)
	transient := map[string]string{keys.Intent: "transient"}
	make("a", transient, map[string]string{keys.TTL: "1h", keys.LastActive: "2026-01-01T00:00:00Z"})
	make("b", transient, map[string]string{keys.TTL: "1h"})
	make("plain", nil, nil)

	expect := func(code int, stdout, stderr string, args ...string) string {
		t.Helper()
		gotCode, out, errOut := plugin(t, kubeconfig, args...)
		if gotCode != code || !strings.Contains(out, stdout) || !strings.Contains(errOut, stderr) || (stderr == "") != (errOut == "") {
			t.Errorf("%s: exit code %d, want %d\n%s\n%s", strings.Join(args, " "), gotCode, code, out, errOut)
		}
		return out
	}
	before := get("a").ResourceVersion
	expect(exitDone, "configmap/a touched (dry run): it ends at 20", "", "touch", "configmap/a", "-n", ns, "--dry-run=server")
	if get("a").ResourceVersion != before {
		t.Error("a dry run has written")
	}
	expect(exitDone, "configmap/b touched: it ends at 20", "", "touch", "cm/a", "ConfigMap/b", "-n", ns)
	for _, name := range []string{"a", "b"} {
		if get(name).Annotations[keys.LastActive] < "2026-02" {
			t.Errorf("%s was last active at %s", name, get(name).Annotations[keys.LastActive])
		}
	}
	expect(exitDone, "configmap/a extended: it ends at 20", "", "extend", "cm/a", "-n", ns, "--for", "1d12h")
	if got := get("a").Annotations[keys.TTL]; got != "1d12h" {
		t.Errorf("the TTL is %s", got)
	}
	expect(exitUsage, "", `error: --for is "36": it has no unit, want w, d, h, m or s`, "extend", "cm/a", "-n", ns, "--for", "36")
	expect(exitUsage, "", "required flag", "extend", "cm/a", "-n", ns)
	expect(exitNotSo, "", "does not say that it is transient", "extend", "cm/plain", "-n", ns, "--for", "1h")
	expect(exitUsage, "", "is not KIND/NAME", "touch", "a", "-n", ns)
	expect(exitUsage, "", `the server has no kind "nonsense"`, "touch", "nonsense/a", "-n", ns)
	expect(exitUnreachable, "", "forbidden", "touch", "secret/a", "-n", ns)
	expect(exitNotSo, "", "See what is there: kubectl get configmaps --namespace "+ns, "touch", "cm/none", "-n", ns)
	expect(exitDone, "configmap/a retained: it says that it is retained", "", "retain", "cm/a", "-n", ns)
	if a := get("a"); a.Labels[keys.Intent] != "retained" || a.Annotations[keys.TTL] != "" {
		t.Errorf("it is %+v", a.ObjectMeta)
	}

	// What is retained still goes with its owners, which is warned of.
	owners := []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "b", UID: get("b").UID}}
	for _, want := range []string{
		"warning: configmap/plain: it goes with its owner ConfigMap b: retain that, or remove the reference\n",
		"warning: configmap/plain: it goes with its owners ConfigMap b, ConfigMap a: retain one of them, or remove the references\n",
	} {
		m := get("plain")
		m.OwnerReferences = owners
		if _, err := maps.Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		expect(exitDone, "configmap/plain retained", want, "retain", "cm/plain", "-n", ns, "--dry-run")
		owners = append(owners, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "a", UID: get("a").UID})
	}

	// Completion offers what is transient, and is not named yet.
	lister, _ := devtest.User(t, cluster, ns, devtest.Rights{Namespaced: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}}})
	make("c", transient, map[string]string{keys.TTL: "1h"})
	for typed, want := range map[string]string{"": "namespaces/\npods/", "cm/": "cm/c\n:4\n", "secret/": ":4\n"} {
		var out, errOut bytes.Buffer
		streams := genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &errOut}
		args := []string{"__complete", "touch", "--cache-dir", t.TempDir(), "--kubeconfig", devtest.Kubeconfig(t, lister), "--context", "test", "-n", ns, "cm/b", typed}
		if run(t.Context(), streams, args); !strings.HasPrefix(out.String(), want) {
			t.Errorf("of %q it completes %q, want %q", typed, out.String(), want)
		}
	}

	// One that is not there does not keep the others from what was asked for.
	out := expect(exitNotSo, "", "it is gone: ", "touch", "cm/none", "cm/b", "-n", ns, "-o", "json")
	var list struct {
		Kind  string
		Items []struct {
			Object   objectFields
			Changed  bool
			Reason   string
			Decision struct{ Verdict, Reason string }
		}
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err, out)
	}
	got := fmt.Sprintf("%s %s %v %s, %s %v %s", list.Kind, list.Items[0].Object.Name, list.Items[0].Changed, list.Items[0].Reason,
		list.Items[1].Object.Name, list.Items[1].Changed, list.Items[1].Decision.Reason)
	if want := "ChangeList none false Unsatisfied, b true NotDue"; got != want {
		t.Errorf("%s, want %s\n%s", got, want, out)
	}
	expect(exitDone, `"kind": "Change"`, "", "touch", "cm/b", "-n", ns, "-o", "json")
	expect(exitDone, "change.pharos.dev/b", "", "touch", "cm/b", "-n", ns, "-o", "name")
}
