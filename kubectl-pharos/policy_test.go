package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper/policy"
)

// It needs no cluster to print, and what it prints is what was asked for.
func TestPolicyPrints(t *testing.T) {
	t.Parallel()
	none := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(none, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"policy", "agents", "-n", "sandboxes", "--max-ttl", "2d", "--max-objects", "20", "--cpu", "1500m", "--memory", "16Gi", "--resources", "pods,jobs.batch"}
	code, out, errOut := plugin(t, none, args...)
	if code != exitDone || errOut != "" {
		t.Fatalf("exit code %d\n%s", code, errOut)
	}
	var kinds []string
	for _, doc := range strings.Split(out, "---\n") {
		var o struct {
			Kind     string
			Metadata metav1.ObjectMeta
			Status   any
			Spec     struct{ Hard map[string]string }
		}
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatal(err)
		}
		if kinds = append(kinds, o.Kind); o.Status != nil || o.Metadata.Name != "pharos-tier-agents" {
			t.Errorf("it printed\n%s", doc)
		}
		if o.Kind == "ResourceQuota" && (o.Spec.Hard["requests.cpu"] != "1500m" || o.Spec.Hard["requests.memory"] != "16Gi" || o.Spec.Hard["count/pods"] != "20" || o.Metadata.Namespace != "sandboxes") {
			t.Errorf("the quota is\n%s", doc)
		}
	}
	if got := strings.Join(kinds, " "); got != "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ResourceQuota" {
		t.Errorf("it printed %s", got)
	}
	code, out, _ = plugin(t, none, append(args, "-o", "json")...)
	var list struct {
		Kind  string
		Items []any
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != exitDone || list.Kind != "List" || len(list.Items) != 3 {
		t.Errorf("exit code %d, %v: %s", code, err, out)
	}
	for _, wrong := range [][]string{{"A/b"}, {"agents", "--max-ttl", "86400"}, {"agents", "--cpu", "much"}, {"agents", "--memory", "-1"}, {"agents", "--resources", "*"}, {}} {
		if code, _, errOut := plugin(t, none, append([]string{"policy"}, wrong...)...); code != exitUsage || errOut == "" {
			t.Errorf("policy %q: exit code %d\n%s", wrong, code, errOut)
		}
	}
}

func TestPolicyCheck(t *testing.T) {
	t.Parallel()
	cluster := devtest.Cluster(t)
	ns, kubeconfig := devtest.Namespace(t, cluster), devtest.Kubeconfig(t, cluster.Config())
	secrets := devtest.Client(t, cluster.Config()).CoreV1().Secrets(ns)
	add := func(name string, labels, annotations map[string]string) {
		t.Helper()
		if _, err := secrets.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: annotations}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"policy", "agents", "-n", ns, "--max-ttl", "2d", "--resources", "secrets", "--check"}
	add("good", map[string]string{keys.Intent: "transient"}, map[string]string{keys.TTL: "1d", keys.Owner: "ann"})
	if code, out, errOut := plugin(t, kubeconfig, args...); code != exitDone || out != "" || !strings.HasSuffix(errOut, "0 of 1 objects would have been refused\n") {
		t.Errorf("exit code %d\n%s\n%s", code, out, errOut)
	}
	add("long", map[string]string{keys.Intent: "transient"}, map[string]string{keys.TTL: "1w", keys.Owner: "ann"})
	if code, out, _ := plugin(t, kubeconfig, args...); code != exitNotSo || out != "Secret "+ns+"/long would have been refused: "+keys.TTL+": 7d is longer than 2d, which the tier agents keeps things for\n" {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if code, out, _ := plugin(t, kubeconfig, append(args, "--max-objects", "1")...); code != exitNotSo || !strings.HasSuffix(out, "\ncount/secrets in "+ns+": 2 of 1 are used, 1 too much\n") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	code, out, _ := plugin(t, kubeconfig, append(args, "-o", "json")...)
	var r struct {
		Kind     string
		Findings []struct{ Name string }
		Quotas   []policy.Quota
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitNotSo || r.Kind != "PolicyReview" || len(r.Findings) != 1 || r.Findings[0].Name != "long" || len(r.Quotas) != 1 || r.Quotas[0].Used.Value() != 2 {
		t.Errorf("exit code %d, %v\n%s", code, err, out)
	}
}
