package policy_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper/policy"
)

// Whoever may only list sees what would have been refused, and what could not be seen.
func TestReview(t *testing.T) {
	t.Parallel()
	cluster := devtest.Cluster(t)
	kube, namespace := devtest.Client(t, cluster.Config()), devtest.Namespace(t, cluster)
	for name, m := range map[string]metav1.ObjectMeta{
		"good":  {Labels: transient, Annotations: marks{keys.Owner: "ann", keys.TTL: "1h"}},
		"long":  {Labels: transient, Annotations: marks{keys.Owner: "ann", keys.TTL: "1w"}},
		"plain": {},
		"owned": {OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: "kube-system", UID: uidOf(t, "kube-system")}}},
	} {
		m.Name = name
		if _, err := kube.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: m}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	config, _ := devtest.User(t, cluster, namespace, devtest.Rights{Namespaced: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps", "pods"}, Verbs: []string{"list"}}}})
	r, err := policy.Review(t.Context(), config, policy.Config{Tier: tier(24 * time.Hour), Namespaces: []string{namespace, namespace}, Resources: []string{"configmaps", "secrets", "nonsense.example.org"}})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range r.Findings {
		for _, refusal := range f.Refusals {
			found = append(found, fmt.Sprintf("%s %s/%s %s", f.Resource, f.Namespace, f.Name, refusal.Key))
		}
	}
	in := "configmaps " + namespace + "/"
	want := []string{in + "long " + keys.TTL, in + "plain " + keys.Intent, in + "plain " + keys.Owner, in + "plain " + keys.TTL}
	if !slices.Equal(found, want) || r.Looked < 4 {
		t.Errorf("of %d it found %q, want %q", r.Looked, found, want)
	}
	if len(r.Gaps) != 2 || r.Gaps[0].Resource != "nonsense.example.org" || r.Gaps[1].Resource != "secrets" || !strings.Contains(r.Gaps[1].Reason, "forbidden") {
		t.Errorf("the gaps are %+v", r.Gaps)
	}
}

// What an API server that is starting does not name may be there.
func TestReviewOfServerThatIsStarting(t *testing.T) {
	t.Parallel()
	cluster := devtest.Cluster(t)
	proxy, err := faultproxy.ForCluster(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	proxy.Add(faultproxy.Rule{Method: http.MethodGet, Path: regexp.MustCompile("^/readyz$"), Do: faultproxy.Answer(http.StatusInternalServerError)})
	c := policy.Config{Tier: tier(24 * time.Hour), Namespaces: []string{devtest.Namespace(t, cluster)}, Resources: []string{"configmaps", "nonsense.example.org"}}
	r, err := policy.Review(t.Context(), proxy.Config(cluster.Config()), c)
	if err != nil || len(r.Gaps) != 1 || r.Gaps[0].Resource != "nonsense.example.org" || !strings.Contains(r.Gaps[0].Reason, "/readyz") {
		t.Errorf("%+v, %v", r, err)
	}
}

// Without names the namespaces are those with the tier's label, themselves too.
func TestReviewByLabel(t *testing.T) {
	t.Parallel()
	cluster := devtest.Cluster(t)
	kube, namespace := devtest.Client(t, cluster.Config()), devtest.Namespace(t, cluster)
	limits := tier(24 * time.Hour)
	limits.Name = namespace
	c := policy.Config{Tier: limits, Resources: []string{"namespaces", "configmaps"}}
	before, err := policy.Review(t.Context(), cluster.Config(), c)
	if err != nil || before.Looked != 0 || len(before.Gaps) != 0 {
		t.Errorf("%+v, %v", before, err)
	}
	_, err = kube.CoreV1().Namespaces().Patch(t.Context(), namespace, "application/merge-patch+json", []byte(`{"metadata":{"labels":{"`+keys.Tier+`":"`+namespace+`"}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := policy.Review(t.Context(), cluster.Config(), c)
	if err != nil || len(r.Findings) != 1 || r.Findings[0].Kind != "Namespace" || r.Findings[0].Name != namespace {
		t.Errorf("%+v, %v", r, err)
	}
}

func uidOf(t *testing.T, namespace string) types.UID {
	t.Helper()
	ns, err := devtest.Client(t, devtest.Cluster(t).Config()).CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ns.UID
}
