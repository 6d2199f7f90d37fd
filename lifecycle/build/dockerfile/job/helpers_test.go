package job_test

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile"
	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile/job"
	"github.com/pharos-dev/pharos/lifecycle/transport"
)

// patience bounds what a test waits for.
const patience = 5 * time.Minute

const (
	fingerprint = catalogue.Fingerprint("sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbb")
	digest      = lifecycle.Digest("sha256:1111111111111111111111111111111111111111111111111111111111111111")
	tree        = source.ID("4b825dc642cb6eb9a060e54bf8d69288fbee4904")
	image       = "registry.example.com/buildkit@" + string(digest)
)

// hold has the hollow node leave a pod to the test, which says itself what becomes of it.
var hold = map[string]string{"hollow.pharos.dev/waiting": "ContainerCreating"}

// pushed stands for a Git server that holds what it is given: no pod of a hollow node
// fetches anything.
type pushed struct{ calls atomic.Int32 }

func (p *pushed) PushInputs(_ context.Context, tree source.Tree) (transport.Inputs, error) {
	p.calls.Add(1)
	return transport.Inputs{Tree: tree.ID, Commit: transport.InputsCommit(tree.ID), Ref: transport.InputsRef(tree.ID), Sent: true}, nil
}

// bench is a namespace of a cluster on which builds are tried.
type bench struct {
	t         *testing.T
	cluster   *devenv.Cluster
	client    kubernetes.Interface
	namespace string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	c := devtest.Cluster(t)
	return &bench{t: t, cluster: c, client: devtest.Client(t, c.Config()), namespace: devtest.Namespace(t, c)}
}

func (b *bench) config() job.Config {
	return job.Config{
		REST: b.cluster.Config(), Namespace: b.namespace, Target: "devbox", Owner: "me@here",
		Pusher: &pushed{}, GitURL: "http://git.example.com/repo.git", Image: image, PodAnnotations: hold,
	}
}

func (b *bench) backend(c job.Config) *job.Backend {
	b.t.Helper()
	backend, err := job.New(c)
	if err != nil {
		b.t.Fatal(err)
	}
	backend.SetInterval(50 * time.Millisecond)
	return backend
}

func solveOf(image string) dockerfile.Solve {
	return dockerfile.Solve{
		Image: image, Fingerprint: fingerprint, Inputs: source.Tree{ID: tree},
		Options:    map[string]string{"filename": "Dockerfile", "build-arg:X": "$(HOME) $$ $x"},
		Policy:     []byte(`{}`),
		Repository: "registry.example.com/dev/" + image, Tag: "fp-aaaa",
		Annotations: map[string]string{keys.Fingerprint: string(fingerprint)},
		Output:      io.Discard,
	}
}

// solved is what became of a Solve.
type solved struct {
	dockerfile.Solved
	err error
}

// start begins a Solve.
func (b *bench) start(ctx context.Context, backend *job.Backend, s dockerfile.Solve) <-chan solved {
	done := make(chan solved, 1)
	go func() {
		got, err := backend.Solve(ctx, s)
		done <- solved{got, err}
	}()
	return done
}

// job waits for a Job of the namespace that is none of the others, by their UIDs.
func (b *bench) job(ctx context.Context, other ...string) *batchv1.Job {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	w, err := b.client.BatchV1().Jobs(b.namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		j, ok := e.Object.(*batchv1.Job)
		if ok && j.DeletionTimestamp == nil && !strings.Contains(strings.Join(other, " "), string(j.UID)) {
			return j
		}
	}
	b.t.Fatal("there is no Job")
	return nil
}

// pod waits for the pod of a Job.
func (b *bench) pod(j *batchv1.Job) *corev1.Pod {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	w, err := b.client.CoreV1().Pods(b.namespace).Watch(ctx, metav1.ListOptions{LabelSelector: batchv1.ControllerUidLabel + "=" + string(j.UID)})
	if err != nil {
		b.t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if p, ok := e.Object.(*corev1.Pod); ok && len(p.Status.ContainerStatuses) > 0 {
			return p
		}
	}
	b.t.Fatal("the Job has no pod")
	return nil
}

// end plays the kubelet of a pod that has ended.
func (b *bench) end(p *corev1.Pod, phase corev1.PodPhase, code int32, message string) {
	b.t.Helper()
	p = p.DeepCopy()
	p.Status.Phase = phase
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "build", Image: image, State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Completed", Message: message}}}}
	if _, err := b.client.CoreV1().Pods(b.namespace).UpdateStatus(b.t.Context(), p, metav1.UpdateOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

const result = "version v0.34.2\n  \"containerimage.digest\": \"" + string(digest) + "\",\n"

// succeed has a Job's pod end as one that has built the image.
func (b *bench) succeed(j *batchv1.Job) {
	b.t.Helper()
	b.end(b.pod(j), corev1.PodSucceeded, 0, result)
}

// finished waits until a Job has that condition.
func (b *bench) finished(j *batchv1.Job, condition batchv1.JobConditionType) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	w, err := b.client.BatchV1().Jobs(b.namespace).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + j.Name})
	if err != nil {
		b.t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if j, ok := e.Object.(*batchv1.Job); ok {
			for _, c := range j.Status.Conditions {
				if c.Type == condition && c.Status == corev1.ConditionTrue {
					return
				}
			}
		}
	}
	b.t.Fatalf("the Job did not become %s", condition)
}

func (b *bench) remaining() []batchv1.Job {
	b.t.Helper()
	list, err := b.client.BatchV1().Jobs(b.namespace).List(b.t.Context(), metav1.ListOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	return list.Items
}

func (b *bench) remove(j *batchv1.Job) {
	b.t.Helper()
	policy := metav1.DeletePropagationBackground
	if err := b.client.BatchV1().Jobs(b.namespace).Delete(b.t.Context(), j.Name, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		b.t.Fatal(err)
	}
}

// verified is a registry that has some images.
type verified struct{ err error }

func (v verified) Verify(_ context.Context, _ string, d lifecycle.Digest) (lifecycle.RegistryImage, error) {
	return lifecycle.RegistryImage{Digest: d}, v.err
}

// watches waits until a caller watches a Job and its pods.
func (b *bench) watches(c *devtest.Counter) {
	b.t.Helper()
	err := wait.PollUntilContextTimeout(b.t.Context(), 10*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		n := 0
		for _, r := range c.Requests() {
			if strings.Contains(r.Query, "watch=true") {
				n++
			}
		}
		return n >= 2, nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
}
