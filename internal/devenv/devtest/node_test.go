package devtest_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// onNode gives a test the node, a client for it and a namespace.
func onNode(t *testing.T) (*devenv.Node, kubernetes.Interface, string) {
	t.Helper()
	n := devtest.Node(t)
	return n, devtest.Client(t, n.Config()), devtest.Namespace(t, n.Cluster)
}

// runJob runs a Job with one container to its end and returns what it printed.
func runJob(t *testing.T, client kubernetes.Interface, ns string, pod corev1.PodSpec) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	none := int32(0)
	pod.RestartPolicy = corev1.RestartPolicyNever
	job, err := client.BatchV1().Jobs(ns).Create(ctx, &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "job-"},
		Spec:       batchv1.JobSpec{BackoffLimit: &none, Template: corev1.PodTemplateSpec{Spec: pod}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := client.BatchV1().Jobs(ns).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + job.Name})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	var last *batchv1.Job
	for e := range w.ResultChan() {
		j, ok := e.Object.(*batchv1.Job)
		if !ok {
			continue
		}
		last = j
		for _, c := range j.Status.Conditions {
			if c.Status != corev1.ConditionTrue {
				continue
			}
			switch c.Type {
			case batchv1.JobComplete:
				return jobLog(t, client, ns, job.Name)
			case batchv1.JobFailed:
				t.Fatalf("the Job failed: %s\n%s", c.Message, jobLog(t, client, ns, job.Name))
			}
		}
	}
	t.Fatalf("the Job did not end: %+v\n%s", last.Status, jobLog(t, client, ns, job.Name))
	return ""
}

func jobLog(t *testing.T, client kubernetes.Interface, ns, job string) string {
	t.Helper()
	pods, err := client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{LabelSelector: "batch.kubernetes.io/job-name=" + job})
	if err != nil || len(pods.Items) != 1 {
		t.Fatalf("the Job's pods: %d, %v", len(pods.Items), err)
	}
	out, err := client.CoreV1().Pods(ns).GetLogs(pods.Items[0].Name, &corev1.PodLogOptions{}).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// runWeb runs a Deployment with a web server behind a Service, both named web, until it is available.
func runWeb(t *testing.T, n *devenv.Node, client kubernetes.Interface, ns string) {
	t.Helper()
	d := deployment("web", func(p *corev1.PodTemplateSpec) {
		p.Spec.Containers[0] = corev1.Container{
			Name:    "main",
			Image:   n.Busybox(),
			Command: []string{"sh", "-c", "mkdir /www && echo hello from a pod >/www/index.html && echo serving && exec httpd -f -p 8080 -h /www"},
			ReadinessProbe: &corev1.Probe{
				ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(8080)}},
				PeriodSeconds: 1,
			},
		}
	})
	if _, err := client.AppsV1().Deployments(ns).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := client.CoreV1().Services(ns).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "web"},
			Ports:    []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w, err := client.AppsV1().Deployments(ns).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if d, ok := e.Object.(*appsv1.Deployment); ok && d.Status.AvailableReplicas == 1 {
			return
		}
	}
	t.Fatal("the Deployment did not become available")
}

func TestPodReachesAServiceByName(t *testing.T) {
	t.Parallel()
	n, client, ns := onNode(t)
	runWeb(t, n, client, ns)
	for _, host := range []string{"web", "web." + ns + ".svc.cluster.local"} {
		out := runJob(t, client, ns, corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: n.Busybox(),
			// The rules of a new Service follow its endpoints by a moment.
			Command: []string{"sh", "-c", "until wget -q -O - http://" + host + "/; do usleep 20000; done"},
		}}})
		if !strings.Contains(out, "hello from a pod\n") {
			t.Errorf("http://%s/ gives %q", host, out)
		}
	}
}

func TestPodReachesTheAPIServer(t *testing.T) {
	t.Parallel()
	n, client, ns := onNode(t)
	out := runJob(t, client, ns, corev1.PodSpec{Containers: []corev1.Container{{
		Name: "main", Image: n.Busybox(),
		Command: []string{"sh", "-c", "cd /var/run/secrets/kubernetes.io/serviceaccount && cat namespace && nc -w 5 kubernetes.default.svc 443 </dev/null && echo reached"},
	}}})
	if out != ns+"reached\n" {
		t.Errorf("got %q", out)
	}
}

func TestPodReachesTheTest(t *testing.T) {
	t.Parallel()
	n, client, ns := onNode(t)
	l, err := n.Listen()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "hello from the test\n")
	}))
	if err := server.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	server.Listener = l
	server.Start()
	defer server.Close()
	out := runJob(t, client, ns, corev1.PodSpec{Containers: []corev1.Container{{
		Name: "main", Image: n.Busybox(), Command: []string{"wget", "-q", "-O", "-", server.URL},
	}}})
	if out != "hello from the test\n" {
		t.Errorf("got %q", out)
	}
}

// kubectl runs the cluster's kubectl and returns what it printed.
func kubectl(t *testing.T, n *devenv.Node, ns string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := devenv.Kubectl(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(t.Context(), path, append([]string{"--kubeconfig", n.Kubeconfig(), "--context", n.Context(), "--namespace", ns}, args...)...)
}

func TestKubectlReachesIntoPods(t *testing.T) {
	t.Parallel()
	n, client, ns := onNode(t)
	runWeb(t, n, client, ns)

	cmd := kubectl(t, n, ns, "exec", "-i", "deploy/web", "--", "tr", "a-z", "A-Z")
	cmd.Stdin = strings.NewReader("through\n")
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "THROUGH\n" {
		t.Errorf("exec: %q, %v", out, err)
	}
	if out, err := kubectl(t, n, ns, "logs", "deploy/web").CombinedOutput(); err != nil || string(out) != "serving\n" {
		t.Errorf("logs: %q, %v", out, err)
	}

	cmd = kubectl(t, n, ns, "port-forward", "deploy/web", ":8080")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		// It runs until it is ended.
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	buf := make([]byte, 1000)
	read, err := stdout.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`).Find(buf[:read])
	if address == nil {
		t.Fatalf("port-forward says %q", buf[:read])
	}
	if body := get(t, "http://"+string(address)+"/"); body != "hello from a pod\n" {
		t.Errorf("through the forwarded port: %q", body)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestPrivilegedPodMayMount(t *testing.T) {
	t.Parallel()
	n, client, ns := onNode(t)
	yes := true
	out := runJob(t, client, ns, corev1.PodSpec{Containers: []corev1.Container{{
		Name: "main", Image: n.Busybox(),
		Command:         []string{"sh", "-c", "mount -t tmpfs tmpfs /tmp && grep -c ' /tmp tmpfs' /proc/mounts"},
		SecurityContext: &corev1.SecurityContext{Privileged: &yes},
	}}})
	if out != "1\n" {
		t.Errorf("got %q", out)
	}
}

func TestNodePullsWhatLoopbackPushed(t *testing.T) {
	t.Parallel()
	n, client, ns := onNode(t)
	parse := func(s string) name.Digest {
		r, err := name.NewDigest(s, name.Insecure)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	busybox := parse(strings.Replace(n.Busybox(), n.PullRegistry(), n.PushRegistry(), 1))
	image, err := remote.Image(busybox, remote.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	changed := *config.Config.DeepCopy()
	changed.Cmd = []string{"echo", "pulled"}
	if image, err = mutate.Config(image, changed); err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(parse(n.PushRegistry()+"/team/app@"+digest.String()), image, remote.WithContext(t.Context())); err != nil {
		t.Fatal(err)
	}
	out := runJob(t, client, ns, corev1.PodSpec{Containers: []corev1.Container{{
		Name: "main", Image: n.PullRegistry() + "/team/app@" + digest.String(),
	}}})
	if out != "pulled\n" {
		t.Errorf("got %q", out)
	}
}

// git runs git without the user's configuration and returns what it printed.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// pushed makes a repository with these files, pushes it to the node's Git server under this name, and returns the commit.
func pushed(t *testing.T, n *devenv.Node, name string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "--quiet", "--initial-branch=main")
	for file, content := range files {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "add", ".")
	git(t, dir, "commit", "--quiet", "--message=one")
	git(t, dir, "push", "--quiet", n.GitPush()+"/"+name+".git", "HEAD:refs/heads/main", "HEAD:refs/pharos/inputs/one")
	return git(t, dir, "rev-parse", "HEAD")
}

func TestGitServerIsSeenFromBothSides(t *testing.T) {
	t.Parallel()
	n, client, ns := onNode(t)
	commit := pushed(t, n, "shop", map[string]string{"file": "content\n"})
	if got := git(t, "", "ls-remote", n.GitPush()+"/shop.git", "refs/pharos/inputs/one"); got != commit+"\trefs/pharos/inputs/one" {
		t.Errorf("from loopback: got %q, want %s", got, commit)
	}
	out := runJob(t, client, ns, corev1.PodSpec{Containers: []corev1.Container{{
		Name: "main", Image: buildKit(t, n),
		Command: []string{"sh", "-ec", "git init -q --template= /tmp/r && cd /tmp/r && git fetch -q --depth 1 " + n.GitURL() + "/shop.git " + commit + " && git cat-file blob FETCH_HEAD:file"},
	}}})
	if out != "content\n" {
		t.Errorf("from a pod: got %q", out)
	}
}

func buildKit(t *testing.T, n *devenv.Node) string {
	t.Helper()
	image, err := n.BuildKitImage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// buildScript runs a buildkitd for one build from Git, and prints what it says of the image.
const buildScript = `
printf '[registry."%s"]\n  http = true\n' "$REGISTRY" >/tmp/buildkitd.toml
buildkitd --config /tmp/buildkitd.toml >/tmp/log 2>&1 &
until buildctl debug workers >/dev/null 2>&1; do usleep 20000; done
buildctl build --frontend dockerfile.v0 --opt "context=$SOURCE" \
  --opt "build-arg:BASE=$BASE" --output "type=image,name=$REGISTRY/built:v1,push=true,registry.insecure=true" \
  --metadata-file /tmp/metadata >>/tmp/log 2>&1 || { cat /tmp/log; exit 1; }
cat /tmp/metadata
`

func TestJobBuildsAndPushesAnImage(t *testing.T) {
	t.Parallel()
	n, client, ns := onNode(t)
	commit := pushed(t, n, "built", map[string]string{
		"Dockerfile": "ARG BASE\nFROM $BASE\nCOPY word /word\nRUN tr a-z A-Z </word >/loud\nCMD [\"cat\", \"/loud\"]\n",
		"word":       "made by a job\n",
	})
	yes := true
	out := runJob(t, client, ns, corev1.PodSpec{
		Containers: []corev1.Container{{
			Name: "main", Image: buildKit(t, n),
			Command: []string{"sh", "-ec", buildScript},
			Env: []corev1.EnvVar{
				{Name: "REGISTRY", Value: n.PullRegistry()},
				{Name: "BASE", Value: n.Busybox()},
				{Name: "SOURCE", Value: n.GitURL() + "/built.git#" + commit},
			},
			SecurityContext: &corev1.SecurityContext{Privileged: &yes},
			VolumeMounts:    []corev1.VolumeMount{{Name: "state", MountPath: "/var/lib/buildkit"}},
		}},
		Volumes: []corev1.Volume{{Name: "state", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
	})
	digest := regexp.MustCompile(`"containerimage.digest": "(sha256:[0-9a-f]{64})"`).FindStringSubmatch(out)
	if digest == nil {
		t.Fatalf("BuildKit's metadata: %s", out)
	}
	out = runJob(t, client, ns, corev1.PodSpec{Containers: []corev1.Container{{
		Name: "main", Image: n.PullRegistry() + "/built@" + digest[1],
	}}})
	if out != "MADE BY A JOB\n" {
		t.Errorf("the built image prints %q", out)
	}
}
