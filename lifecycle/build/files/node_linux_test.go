package files_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// patience bounds a wait for a pod; a run that works never comes near it.
const patience = 3 * time.Minute

// The runtime of a real node pulls an image of files, and a pod that runs as nobody
// in particular reads them in a volume.
func TestPodReadsTheFiles(t *testing.T) {
	t.Parallel()
	n := devtest.Node(t)
	client, ns := devtest.Client(t, n.Config()), devtest.Namespace(t, n.Cluster)
	f := newFixture(t)
	r := f.request(site, catalogue.FilesBuild{From: "site/public", Root: "/srv"})
	r.Repository = n.PushRegistry() + "/" + ns + "/site"
	res := f.build(r)

	nobody := int64(65532)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	pod, err := client.CoreV1().Pods(ns).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Spec: corev1.PodSpec{
			RestartPolicy:   corev1.RestartPolicyNever,
			SecurityContext: &corev1.PodSecurityContext{RunAsUser: &nobody, RunAsGroup: &nobody},
			Volumes: []corev1.Volume{{Name: "site", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{
				Reference: n.PullRegistry() + "/" + ns + "/site@" + string(res.Digest),
			}}}},
			Containers: []corev1.Container{{
				Name: "main", Image: n.Busybox(),
				Command:      []string{"sh", "-c", "cd /site/srv && cat index.html latest styles/a.css && stat -c '%a %u %g %n' css css/a.css bin/check"},
				VolumeMounts: []corev1.VolumeMount{{Name: "site", MountPath: "/site"}},
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := client.CoreV1().Pods(ns).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + pod.Name})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if seen, ok := e.Object.(*corev1.Pod); ok {
			pod = seen
		}
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			break
		}
	}
	out, err := client.CoreV1().Pods(ns).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(t.Context())
	if err != nil {
		t.Fatalf("%v\n%+v", err, pod.Status)
	}
	want := "<h1>Shop</h1>\nh1 {}\nh1 {}\n755 0 0 css\n644 0 0 css/a.css\n755 0 0 bin/check\n"
	if string(out) != want || pod.Status.Phase != corev1.PodSucceeded {
		t.Errorf("the pod is %s and read\n%s\nwant\n%s", pod.Status.Phase, out, want)
	}
}
