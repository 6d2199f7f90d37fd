package forward_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle/takeover/forward"
)

// rights are those that the package's documentation lists.
var rights = devtest.Rights{Namespaced: []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"get"}},
	{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"list", "watch"}},
	{APIGroups: []string{""}, Resources: []string{"pods/portforward"}, Verbs: []string{"get", "create"}},
}}

// A browser finds the page of a Service on the real node at the same address, across the end of its pod.
func TestNodeForwards(t *testing.T) {
	t.Parallel()
	n := devtest.Node(t)
	s := &shop{client: devtest.Client(t, n.Config()), namespace: devtest.Namespace(t, n.Cluster)}
	labels := map[string]string{"app": "db"}
	_, err := s.client.AppsV1().Deployments(s.namespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "main", Image: n.Busybox(),
					Command: []string{"sh", "-c", "mkdir /www && hostname >/www/index.html && exec httpd -f -p 5432 -h /www"},
					Ports:   []corev1.ContainerPort{{Name: "sql", ContainerPort: 5432}},
					ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
						TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("sql")}}},
				}}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.service(t, "db", db())
	s.config, _ = devtest.User(t, n.Cluster, s.namespace, rights)
	r := s.start(t, forward.Forward{Service: "db", Port: intstr.FromInt32(80)}, forward.Forward{Service: "db", Port: intstr.FromString("admin")})

	get := func() string {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for { // a connection that waits longer than ten seconds is reset, and a browser tries again
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.Addresses()[0].String()+"/", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				if ctx.Err() != nil {
					t.Fatal(err)
				}
				continue
			}
			body, err := io.ReadAll(bufio.NewReader(resp.Body))
			resp.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			return strings.TrimSpace(string(body))
		}
	}
	first := get()
	if state := r.await(t, func(s forward.Status) bool { return s.Pod != "" }); state.Pod != first {
		t.Errorf("it is said to lead to %s, and leads to %s", state.Pod, first)
	}
	if err := s.client.CoreV1().Pods(s.namespace).Delete(t.Context(), first, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.await(t, func(s forward.Status) bool { return s.Pod != "" && s.Pod != first })
	if second := get(); second == first {
		t.Errorf("it leads to %s still", second)
	}
	// Nothing listens on the other port, which the probe finds out.
	late := time.After(patience)
	for {
		if state := r.State()[1]; state.Err != nil {
			if !strings.Contains(state.Err.Error(), "9000") || !strings.Contains(state.Err.Error(), "refused") {
				t.Error(state.Err)
			}
			break
		}
		select {
		case <-r.states:
		case <-late:
			t.Fatalf("%+v", r.State())
		}
	}
}
