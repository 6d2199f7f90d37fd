package devtest_test

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

var readConfigMaps = devtest.Rights{Namespaced: []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list"}},
}}

func TestUserHasItsRightsAndNoOthers(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	config, name := devtest.User(t, c, ns, readConfigMaps)
	audit := devtest.RecordAudit(t, c)
	client := devtest.Client(t, config)

	if _, err := client.CoreV1().ConfigMaps(ns).List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("list ConfigMaps, which is allowed: %v", err)
	}
	if _, err := client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("list ConfigMaps of another namespace: got %v, want forbidden", err)
	}
	if err := client.CoreV1().ConfigMaps(ns).Delete(t.Context(), "x", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("delete a ConfigMap: got %v, want forbidden", err)
	}

	events := audit.Events(t, devtest.ByUser(name))
	var got []int
	for _, e := range events {
		got = append(got, e.Code)
		if e.Authenticated != name || e.Resource != "configmaps" {
			t.Errorf("audit event %+v: want user %s and configmaps", e, name)
		}
	}
	if want := []int{200, 403, 403}; !slices.Equal(got, want) {
		t.Errorf("status of the user's requests in the audit log: got %v, want %v", got, want)
	}
}

func TestUserWithClusterWideAndExistingRights(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	config, _ := devtest.User(t, c, ns, devtest.Rights{
		ClusterWide: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"list"}}},
		Existing:    "view",
	})
	client := devtest.Client(t, config)
	if _, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("list nodes: %v", err)
	}
	if _, err := client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("list pods: %v", err)
	}
	if _, err := client.CoreV1().Secrets(ns).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("list secrets: got %v, want forbidden", err)
	}
}

func TestAuditShowsDeletePreconditions(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	maps := devtest.Client(t, c.Config()).CoreV1().ConfigMaps(ns)
	made, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "one"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	audit := devtest.RecordAudit(t, c)
	if err := maps.Delete(t.Context(), "one", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{
		UID: &made.UID, ResourceVersion: &made.ResourceVersion}}); err != nil {
		t.Fatal(err)
	}
	events := audit.Events(t, func(e devenv.AuditEvent) bool {
		return e.Namespace == ns && e.Verb == "delete" && e.Resource == "configmaps"
	})
	if len(events) != 1 {
		t.Fatalf("got %d delete requests, want 1: %+v", len(events), events)
	}
	uid, version := events[0].Preconditions()
	if uid != string(made.UID) || version != made.ResourceVersion {
		t.Errorf("preconditions in the audit log: got %q %q, want %q %q", uid, version, made.UID, made.ResourceVersion)
	}
}

func TestAuditKeepsSecretsOut(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	audit := devtest.RecordAudit(t, c)
	_, err := devtest.Client(t, c.Config()).CoreV1().Secrets(ns).Create(t.Context(),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, StringData: map[string]string{"k": "v"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	events := audit.Events(t, func(e devenv.AuditEvent) bool { return e.Namespace == ns && e.Resource == "secrets" })
	if len(events) != 1 || len(events[0].Request) != 0 {
		t.Errorf("got %+v, want one request without its body", events)
	}
}

// The view must show every request that was answered before, however the API server orders its lines.
func TestAuditMissesNothing(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	config, counter := devtest.Count(c.Config())
	client := devtest.Client(t, config)
	audit := devtest.RecordAudit(t, c)
	for range 100 {
		if _, err := client.CoreV1().ConfigMaps(ns).List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
		sent := len(counter.Requests())
		seen := len(audit.Events(t, func(e devenv.AuditEvent) bool {
			return e.Namespace == ns && e.Verb == "list" && e.Resource == "configmaps" && e.Authenticated == "devcluster-admin"
		}))
		if seen != sent {
			t.Fatalf("the audit log shows %d of %d requests", seen, sent)
		}
	}
}

func TestKubeconfigCarriesTheUser(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	restricted, name := devtest.User(t, c, ns, readConfigMaps)
	for _, config := range []*rest.Config{restricted, devtest.Impersonating(c.Config(), name, "system:authenticated")} {
		loaded, err := clientcmd.BuildConfigFromFlags("", devtest.Kubeconfig(t, config))
		if err != nil {
			t.Fatal(err)
		}
		client := devtest.Client(t, loaded)
		if _, err := client.CoreV1().ConfigMaps(ns).List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Error(err)
		}
		if _, err := client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("list pods: got %v, want forbidden", err)
		}
	}
}

func TestRegistryKeepsImages(t *testing.T) {
	t.Parallel()
	image, err := random.Image(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(devtest.Registry(t) + "/app:v1")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, image, remote.WithContext(t.Context())); err != nil {
		t.Fatal(err)
	}
	want, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := remote.Head(ref, remote.WithContext(t.Context())); err != nil || got.Digest != want {
		t.Errorf("got %+v, %v; want %s", got, err, want)
	}
}

// deployment is a Deployment of one replica.
func deployment(name string, change func(*corev1.PodTemplateSpec)) *appsv1.Deployment {
	one := int32(1)
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &one,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.invalid/main"}}},
			},
		},
	}
	if change != nil {
		change(&d.Spec.Template)
	}
	return d
}

// patience bounds a wait for the cluster's controllers; a run that works never comes near it.
const patience = time.Minute
