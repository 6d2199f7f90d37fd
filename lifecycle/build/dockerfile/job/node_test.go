package job_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile"
	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile/job"
	"github.com/pharos-dev/pharos/lifecycle/registry"
	"github.com/pharos-dev/pharos/lifecycle/transport"
)

// node is a real node with a registry and a Git server, and what builds on it.
type node struct {
	*bench
	real *devenv.Node
	push string // where images are pushed to from here
	pull string // and from where pods pull them
	git  string // the name of the repository on the Git server
}

func onNode(t *testing.T) *node {
	t.Helper()
	n := devtest.Node(t)
	ns := devtest.Namespace(t, n.Cluster)
	return &node{
		bench: &bench{t: t, cluster: n.Cluster, client: devtest.Client(t, n.Config()), namespace: ns},
		real:  n, push: n.PushRegistry() + "/" + ns, pull: n.PullRegistry() + "/" + ns, git: ns + ".git",
	}
}

// little is what BuildKit requests of a node on which many tests build.
var little = map[string]string{"cpu": "10m"}

func (n *node) config() job.Config {
	n.t.Helper()
	image, err := n.real.BuildKitImage(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	remote, err := transport.New(transport.Config{URL: n.real.GitPush() + "/" + n.git, Folder: n.t.TempDir(), Env: os.Environ()})
	if err != nil {
		n.t.Fatal(err)
	}
	return job.Config{
		REST: n.real.Config(), Namespace: n.namespace, Target: "devbox",
		Pusher: remote, GitURL: n.real.GitURL() + "/" + n.git,
		Image: image, Push: n.push, Pull: n.pull, Insecure: true,
		Registry: n.registry(), Requests: little,
	}
}

func (n *node) registry() *registry.Registry {
	n.t.Helper()
	r, err := registry.New(registry.Config{InsecureHosts: []string{n.real.PushRegistry()}})
	if err != nil {
		n.t.Fatal(err)
	}
	return r
}

func (n *node) builder(c job.Config) *dockerfile.Builder {
	n.t.Helper()
	backend, err := job.New(c)
	if err != nil {
		n.t.Fatal(err)
	}
	b, err := dockerfile.New(dockerfile.Config{Backend: backend, Registry: n.registry()})
	if err != nil {
		n.t.Fatal(err)
	}
	return b
}

// request asks for the first image of a catalogue.
func (n *node) request(images string, lock map[string]string, files map[string]string) lifecycle.BuildRequest {
	n.t.Helper()
	all := map[string]source.File{"pharos.yaml": {Content: "apiVersion: pharos.dev/v1alpha1\nkind: Catalogue\nimages:\n" + images}}
	if lock != nil {
		text, err := catalogue.Lock{Images: lock}.Marshal()
		if err != nil {
			n.t.Fatal(err)
		}
		all["pharos.lock"] = source.File{Content: string(text)}
	}
	for name, content := range files {
		all[name] = source.File{Content: content}
	}
	tree, err := source.FromFiles(all)
	if err != nil {
		n.t.Fatal(err)
	}
	c, err := catalogue.Load(n.t.Context(), tree)
	if err != nil {
		n.t.Fatal(err)
	}
	states, err := c.States(n.t.Context(), tree)
	if err != nil {
		n.t.Fatal(err)
	}
	return lifecycle.BuildRequest{State: states[0], Full: tree, Repository: n.push + "/" + states[0].Image.Name, Output: io.Discard}
}

const web = "- {name: web, build: {dockerfile: {path: web/Dockerfile}}, inputs: [web]}\n"

// base pushes an image with a shell, and returns its name and digest.
func (n *node) base() (reference, digest string) {
	n.t.Helper()
	reference = n.push + "/base:1"
	return reference, devtest.PushBusybox(n.t, reference)
}

// secret makes a Secret with one key.
func (n *node) secret(name, key, value string) {
	n.t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{key: value}}
	if key == corev1.DockerConfigJsonKey {
		s.Type = corev1.SecretTypeDockerConfigJson
	}
	if _, err := n.client.CoreV1().Secrets(n.namespace).Create(n.t.Context(), s, metav1.CreateOptions{}); err != nil {
		n.t.Fatal(err)
	}
}

// run runs an image in a pod and returns what it printed.
func (n *node) run(reference string, command ...string) string {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), patience)
	defer cancel()
	pods := n.client.CoreV1().Pods(n.namespace)
	pod, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "run-"},
		Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: reference, Command: command}}},
	}, metav1.CreateOptions{})
	if err != nil {
		n.t.Fatal(err)
	}
	w, err := pods.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + pod.Name})
	if err != nil {
		n.t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if p, ok := e.Object.(*corev1.Pod); ok && (p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed) {
			out, err := pods.GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(ctx)
			if err != nil || p.Status.Phase == corev1.PodFailed {
				n.t.Fatalf("the pod %s: %v\n%s", p.Status.Phase, err, out)
			}
			return string(out)
		}
	}
	n.t.Fatal("the pod did not end")
	return ""
}

// pulled is a built image as the node sees it.
func (n *node) pulled(r lifecycle.BuildRequest, res lifecycle.BuildResult) string {
	return strings.Replace(r.Repository, n.real.PushRegistry(), n.real.PullRegistry(), 1) + "@" + string(res.Digest)
}

// The base is the one of the lock, wherever its tag leads now; arguments come through
// as they are; files are those of the tree, whatever .gitattributes says, and .dockerignore holds;
// a secret is mounted, and stands in nothing that is made. A BuildKit at an address makes the same bytes.
func TestNodeBuilds(t *testing.T) {
	t.Parallel()
	n := onNode(t)
	base, digest := n.base()
	devtest.PushFiles(t, base, map[string]string{"moved": "elsewhere"})
	n.secret("build", "npm.token", "hunter2")
	n.secret("git", "credentials", "http://me:hunter2@"+strings.TrimPrefix(n.real.GitURL(), "http://")+"\n")
	n.secret("registry", corev1.DockerConfigJsonKey, `{"auths":{"`+n.real.PullRegistry()+`":{"auth":"bWU6aHVudGVyMg=="}}}`)
	r := n.request(`- name: web
  build:
    dockerfile: {path: web/Dockerfile, args: {WORD: "$(HOME) $$ $x, \"y\"=1"}, secrets: [npm.token]}
  inputs: [web, .dockerignore]
`, map[string]string{base: digest}, map[string]string{
		".dockerignore":      "web/ignored\n",
		"web/.gitattributes": "* text eol=crlf\n*.id ident\n",
		"web/Dockerfile": "FROM " + base + "\nARG WORD\nCOPY web /web\n" +
			"RUN --mount=type=secret,id=npm.token grep -q ^hunter.$ /run/secrets/npm.token && cat /run/secrets/npm.token && echo && printf '%s\\n' \"$WORD\" >/word\n" +
			`CMD ["sh", "-c", "cat /word /web/lines /web/x.id; ls /web"]` + "\n",
		"web/lines": "one\ntwo\n", "web/x.id": "$Id$\n", "web/ignored": "x",
	})
	var printed bytes.Buffer
	r.Output = &printed
	c := n.config()
	c.BuildSecret, c.GitSecret, c.RegistrySecret = "build", "git", "registry"
	res, err := n.builder(c).Build(t.Context(), r)
	if err != nil {
		t.Fatalf("%v\n%s", err, printed.String())
	}
	if got, want := n.run(n.pulled(r, res)), "$(HOME) $$ $x, \"y\"=1\none\ntwo\n$Id$\nDockerfile\nlines\nx.id\n"; got != want {
		t.Errorf("the image prints %q, want %q", got, want)
	}
	if res.Toolchain != "buildkit v0.34.2" {
		t.Errorf("built by %q", res.Toolchain)
	}
	if !strings.Contains(printed.String(), "RUN --mount=type=secret") || strings.Contains(printed.String(), "hunter2") ||
		!strings.Contains(printed.String(), "***\n") || strings.Contains(printed.String(), "\n\n") {
		t.Errorf("printed:\n%s", printed.String())
	}
	jobs := n.remaining()
	if len(jobs) != 1 || strings.Contains(fmt.Sprintf("%+v", jobs), "hunter2") {
		t.Errorf("%d Jobs; %+v", len(jobs), jobs)
	}

	address, err := dockerfile.NewAddress(dockerfile.AddressConfig{Address: devtest.BuildKit(t).Address(), InsecureHosts: []string{n.real.PushRegistry()},
		Secret: func(context.Context, string) ([]byte, error) { return []byte("hunter2"), nil }})
	if err != nil {
		t.Fatal(err)
	}
	b, err := dockerfile.New(dockerfile.Config{Backend: address, Registry: n.registry()})
	if err != nil {
		t.Fatal(err)
	}
	r.Repository += "-2"
	other, err := b.Build(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if other.Digest != res.Digest {
		t.Errorf("by address %s, in a Job %s", other.Digest, res.Digest)
	}
}

func TestNodeBuildFails(t *testing.T) {
	t.Parallel()
	n := onNode(t)
	base, digest := n.base()
	b := n.builder(n.config())
	lock := map[string]string{base: digest}

	r := n.request(web, lock, map[string]string{"web/Dockerfile": "FROM " + base + "\nRUN echo about to fail && exit 3\n"})
	var printed bytes.Buffer
	r.Output = &printed
	_, err := b.Build(t.Context(), r)
	failed, ok := errors.AsType[*lifecycle.BuildError](err)
	if !ok || !strings.Contains(failed.Reason, "web/Dockerfile:2: ") || !strings.Contains(failed.Reason, "exit code: 3") ||
		failed.Output != "about to fail\n" || !strings.Contains(printed.String(), "about to fail") {
		t.Errorf("error %v\nprinted:\n%s", err, printed.String())
	}

	r = n.request(web, lock, map[string]string{"web/Dockerfile": "FROM " + base + "\nARG WHAT=libs/a\nCOPY $WHAT /\n", "libs/a": "a"})
	_, err = b.Build(t.Context(), r)
	if failed, ok = errors.AsType[*lifecycle.BuildError](err); !ok || len(failed.Missing) != 1 || failed.Missing[0].Pattern != "libs/a" {
		t.Errorf("error %v", err)
	}
}

// Two callers of one image, and one of another, at the same time.
func TestNodeSeveralAtOnce(t *testing.T) {
	t.Parallel()
	n := onNode(t)
	base, digest := n.base()
	c := n.config()
	request := func(name string) lifecycle.BuildRequest {
		return n.request(strings.Replace(web, "name: web", "name: "+name, 1), map[string]string{base: digest},
			map[string]string{"web/Dockerfile": "FROM " + base + "\nRUN echo " + name + " >/name\nCMD [\"cat\", \"/name\"]\n"})
	}
	requests := []lifecycle.BuildRequest{request("web"), request("web"), request("api")}
	results := make([]lifecycle.BuildResult, len(requests))
	var wg sync.WaitGroup
	for i, r := range requests {
		wg.Go(func() {
			var err error
			if results[i], err = n.builder(c).Build(t.Context(), r); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	if results[0].Digest != results[1].Digest || results[0].Digest == results[2].Digest {
		t.Errorf("results %+v", results)
	}
	if got := n.run(n.pulled(requests[2], results[2])); got != "api\n" {
		t.Errorf("the image prints %q", got)
	}
	if jobs := n.remaining(); len(jobs) != 2 {
		t.Errorf("%d Jobs", len(jobs))
	}
}

// gated is an image whose build goes on until the gate is opened.
func (n *node) gated(base, digest string) lifecycle.BuildRequest {
	host, name, _ := strings.Cut(n.pull, "/")
	at := "http://" + host + "/v2/" + name + "/gate/manifests/1"
	return n.request(web, map[string]string{base: digest}, map[string]string{
		"web/Dockerfile": "FROM " + base + "\nRUN echo begun; until wget -q -O /dev/null " + at + "; do usleep 50000; done; echo over\nCMD [\"echo\", \"slow\"]\n"})
}

// open opens the gate.
func (n *node) open() { devtest.PushFiles(n.t, n.push+"/gate:1", map[string]string{"open": ""}) }

// awaitText is an Output that says when a text was written.
type awaitText struct {
	text  string
	mu    sync.Mutex
	all   bytes.Buffer
	once  sync.Once
	found chan struct{}
}

func newAwaitText(text string) *awaitText { return &awaitText{text: text, found: make(chan struct{})} }

func (a *awaitText) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all.Write(p)
	if strings.Contains(a.all.String(), a.text) {
		a.once.Do(func() { close(a.found) })
	}
	return len(p), nil
}

// A caller that is killed leaves its Job, which the next one waits for.
func TestNodeCallerIsKilled(t *testing.T) {
	if path := os.Getenv("JOB_TEST_KUBECONFIG"); path != "" {
		killedCaller(t, path)
	}
	t.Parallel()
	n := onNode(t)
	base, digest := n.base()
	c := n.config()
	caller := exec.Command(os.Args[0], "-test.run=^TestNodeCallerIsKilled$")
	caller.Env = append(os.Environ(), "JOB_TEST_KUBECONFIG="+n.real.Kubeconfig(), "JOB_TEST_NAMESPACE="+n.namespace, "JOB_TEST_IMAGE="+c.Image,
		"JOB_TEST_GIT="+n.real.GitPush()+"/"+n.git, "JOB_TEST_GIT_URL="+c.GitURL, "JOB_TEST_PUSH="+c.Push, "JOB_TEST_PULL="+c.Pull,
		"JOB_TEST_FOLDER="+t.TempDir(), "JOB_TEST_BASE="+base, "JOB_TEST_DIGEST="+digest)
	var said bytes.Buffer
	caller.Stderr, caller.Stdout = &said, &said
	if err := caller.Start(); err != nil {
		t.Fatal(err)
	}
	first := n.job(t.Context())
	if err := caller.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err, said.String())
	}
	_ = caller.Wait()
	printed := newAwaitText("begun\n")
	r := n.gated(base, digest)
	r.Output = printed
	go func() {
		<-printed.found
		n.open()
	}()
	res, err := n.builder(c).Build(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if got := n.run(n.pulled(r, res)); got != "slow\n" {
		t.Errorf("the image prints %q", got)
	}
	jobs := n.remaining()
	if len(jobs) != 1 || jobs[0].UID != first.UID {
		t.Errorf("Jobs %+v", jobs)
	}
	// The log is whole, though its beginning was long ago.
	if text := printed.all.String(); !strings.Contains(text, "begun") || !strings.Contains(text, "over") {
		t.Errorf("printed:\n%s", text)
	}
}

func killedCaller(t *testing.T, kubeconfig string) {
	t.Helper()
	var config *rest.Config
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	remote, err := transport.New(transport.Config{URL: os.Getenv("JOB_TEST_GIT"), Folder: os.Getenv("JOB_TEST_FOLDER")})
	if err != nil {
		t.Fatal(err)
	}
	n := &node{bench: &bench{t: t, namespace: os.Getenv("JOB_TEST_NAMESPACE")}, push: os.Getenv("JOB_TEST_PUSH"), pull: os.Getenv("JOB_TEST_PULL")}
	backend, err := job.New(job.Config{
		REST: config, Namespace: n.namespace, Target: "devbox", Pusher: remote, GitURL: os.Getenv("JOB_TEST_GIT_URL"),
		Image: os.Getenv("JOB_TEST_IMAGE"), Push: n.push, Pull: n.pull, Insecure: true,
		Requests: little,
	})
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ := strings.Cut(n.push, "/")
	r, err := registry.New(registry.Config{InsecureHosts: []string{host}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := dockerfile.New(dockerfile.Config{Backend: backend, Registry: r})
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Build(t.Context(), n.gated(os.Getenv("JOB_TEST_BASE"), os.Getenv("JOB_TEST_DIGEST")))
	t.Fatal("not killed", err)
}

// A Job that is deleted while it builds, and one whose creator gives up: both end, on the
// node too, and a sibling is unhurt.
func TestNodeJobIsDeleted(t *testing.T) {
	t.Parallel()
	n := onNode(t)
	base, digest := n.base()
	c := n.config()
	for name, end := range map[string]func(cancel context.CancelFunc, j *batchv1.Job){
		"deleted":  func(_ context.CancelFunc, j *batchv1.Job) { n.remove(j) },
		"given up": func(cancel context.CancelFunc, _ *batchv1.Job) { cancel() },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		printed := newAwaitText("begun\n")
		r := n.gated(base, digest)
		r.Output = printed
		done := make(chan error, 1)
		go func() {
			_, err := n.builder(c).Build(ctx, r)
			done <- err
		}()
		j := n.job(t.Context())
		<-printed.found
		end(cancel, j)
		if err := <-done; err == nil || name == "deleted" && !strings.Contains(err.Error(), "was deleted") || name != "deleted" && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v", name, err)
		}
		cancel()
		n.noPods(j)
	}
}

// noPods waits until the pods of a Job are gone.
func (n *node) noPods(j *batchv1.Job) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), patience)
	defer cancel()
	selector := metav1.ListOptions{LabelSelector: batchv1.ControllerUidLabel + "=" + string(j.UID)}
	list, err := n.client.CoreV1().Pods(n.namespace).List(ctx, selector)
	if err != nil {
		n.t.Fatal(err)
	}
	if len(list.Items) == 0 {
		return
	}
	selector.ResourceVersion = list.ResourceVersion
	w, err := n.client.CoreV1().Pods(n.namespace).Watch(ctx, selector)
	if err != nil {
		n.t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if e.Type == "DELETED" {
			return
		}
	}
	n.t.Fatal("the pod is still there")
}
