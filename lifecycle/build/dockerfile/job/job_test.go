package job_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile"
)

func TestBuild(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.config()
	c.Push, c.Pull, c.Insecure = "localhost:5000/dev", "10.0.0.1:5000/dev", true
	c.RegistrySecret, c.BuildSecret, c.GitSecret = "registry-login", "build-secrets", "git-login"
	c.Limits = map[string]string{"memory": "2Gi"}
	s := solveOf("web")
	s.Repository = "localhost:5000/dev/web"
	s.Secrets = []string{"npm"}
	s.Options["context:base"] = "docker-image://localhost:5000/dev/base@" + string(digest)
	s.Policy = []byte(`{"rules":[{"updates":{"identifier":"docker-image://localhost:5000/dev/base@` + string(digest) + `"}}]}`)
	done := b.start(t.Context(), b.backend(c), s)
	j := b.job(t.Context())
	b.succeed(j)
	got := <-done
	if got.err != nil || got.Digest != digest || got.Version != "v0.34.2" {
		t.Fatalf("%+v", got)
	}

	for key, want := range map[string]string{keys.BuildOf: "devbox", keys.BuildImage: "web",
		keys.BuildFingerprint: strings.Repeat("a", 40), keys.ManagedBy: "pharos"} {
		if j.Labels[key] != want || j.Spec.Template.Labels[key] != want {
			t.Errorf("label %s: %q, and %q of the pod", key, j.Labels[key], j.Spec.Template.Labels[key])
		}
	}
	for key, want := range map[string]string{keys.Fingerprint: string(fingerprint), keys.Owner: "me@here",
		keys.Inputs: string(tree), keys.BuildRepository: "10.0.0.1:5000/dev/web"} {
		if j.Annotations[key] != want {
			t.Errorf("annotation %s: %q", key, j.Annotations[key])
		}
	}
	if j.Labels[keys.Target] != "" {
		t.Error("the Job looks like a delivered object")
	}
	spec := j.Spec
	if *spec.BackoffLimit != 0 || *spec.ActiveDeadlineSeconds != 3600 || *spec.TTLSecondsAfterFinished != 600 {
		t.Errorf("spec %+v", spec)
	}
	pod := spec.Template.Spec
	if *pod.AutomountServiceAccountToken || pod.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("pod %+v", pod)
	}
	containers := append(slices.Clone(pod.InitContainers), pod.Containers...)
	if len(containers) != 3 {
		t.Fatalf("%d containers", len(containers))
	}
	for _, c := range containers {
		sc := c.SecurityContext
		if c.Name == "buildkitd" {
			if !*sc.Privileged || c.Resources.Limits.Memory().String() != "2Gi" || c.Resources.Requests.Cpu().String() != "500m" {
				t.Errorf("buildkitd: %+v, %+v", sc, c.Resources)
			}
			for _, m := range c.VolumeMounts {
				if m.Name == "secrets" || m.Name == "docker" || m.Name == "git" {
					t.Errorf("buildkitd sees %s", m.Name)
				}
			}
			if !strings.Contains(fmt.Sprint(c.Env), `[registry."10.0.0.1:5000"]`) {
				t.Errorf("buildkitd: %v", c.Env)
			}
			continue
		}
		if sc.Privileged != nil || !*sc.RunAsNonRoot || *sc.AllowPrivilegeEscalation || !*sc.ReadOnlyRootFilesystem ||
			!slices.Equal(sc.Capabilities.Drop, []corev1.Capability{"ALL"}) {
			t.Errorf("%s: %+v", c.Name, sc)
		}
	}
	build := pod.Containers[0]
	for _, want := range []string{
		"--opt=build-arg:X=$$(HOME) $$$$ $$x",
		"--opt=context:base=docker-image://10.0.0.1:5000/dev/base@" + string(digest),
		"--secret=id=npm,src=/run/pharos/secrets/npm",
		"--frontend=dockerfile.v0",
	} {
		if !slices.Contains(build.Args, want) {
			t.Errorf("no argument %q in %q", want, build.Args)
		}
	}
	for _, want := range []string{"type=image", "name=10.0.0.1:5000/dev/web:fp-aaaa", "push=true", "registry.insecure=true", "annotation-index." + keys.Fingerprint + "=" + string(fingerprint)} {
		if !strings.Contains(build.Args[0], want) {
			t.Errorf("no %q in %q", want, build.Args[0])
		}
	}
	if env := fmt.Sprint(build.Env); !strings.Contains(env, "docker-image://10.0.0.1:5000/dev/base@") || strings.Contains(env, "localhost") {
		t.Errorf("environment %s", env)
	}
	inputs := pod.InitContainers[1]
	if !slices.Equal(inputs.Args, []string{"http://git.example.com/repo.git", "refs/pharos/inputs/" + string(tree), "f32fa03161cd36724781b050091530d4776f69af", string(tree), "sha1"}) {
		t.Errorf("inputs: %q", inputs.Args)
	}
}

// However many want an image, one Job builds it.
func TestSeveralCallers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	audit := devtest.RecordAudit(t, b.cluster)
	var callers []<-chan solved
	for range 5 {
		callers = append(callers, b.start(t.Context(), b.backend(b.config()), solveOf("web")))
	}
	b.succeed(b.job(t.Context()))
	for _, done := range callers {
		if got := <-done; got.err != nil || got.Digest != digest {
			t.Errorf("%+v", got)
		}
	}
	created := audit.Events(t, func(e devenv.AuditEvent) bool {
		return e.Namespace == b.namespace && e.Verb == "create" && e.Resource == "jobs" && e.Code == 201 && !strings.HasPrefix(e.User, "system:")
	})
	if len(created) != 1 {
		t.Errorf("%d Jobs were created", len(created))
	}
}

// Builds of another image, and of other inputs, are other Jobs.
func TestOtherBuildsAreOtherJobs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other := solveOf("web")
	other.Fingerprint = "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	elsewhere := solveOf("web")
	elsewhere.Repository += "-2"
	var known []string
	for _, s := range []dockerfile.Solve{solveOf("web"), solveOf(strings.Repeat("web.", 60) + "x"), other, elsewhere} {
		done := b.start(t.Context(), b.backend(b.config()), s)
		j := b.job(t.Context(), known...)
		known = append(known, string(j.UID))
		b.succeed(j)
		if got := <-done; got.err != nil {
			t.Error(got.err)
		}
	}
	if n := len(b.remaining()); n != 4 {
		t.Errorf("%d Jobs", n)
	}
}

// A Job that is done is used as long as the registry has what it made.
func TestDoneJob(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.config()
	c.Registry = verified{}
	done := b.start(t.Context(), b.backend(c), solveOf("web"))
	first := b.job(t.Context())
	b.succeed(first)
	if got := <-done; got.err != nil {
		t.Fatal(got.err)
	}
	b.finished(first, batchv1.JobComplete)

	pusher := &pushed{}
	c.Pusher = pusher
	got, err := b.backend(c).Solve(t.Context(), solveOf("web"))
	if err != nil || got.Digest != digest || pusher.calls.Load() != 0 {
		t.Errorf("%+v, %v; %d pushes", got, err, pusher.calls.Load())
	}

	c.Registry = verified{errors.New("no route to the registry")}
	if _, err := b.backend(c).Solve(t.Context(), solveOf("web")); err == nil || !strings.Contains(err.Error(), "no route") {
		t.Errorf("error %v", err)
	}

	c.Registry = verified{lifecycle.ErrImageNotFound}
	done = b.start(t.Context(), b.backend(c), solveOf("web"))
	second := b.job(t.Context(), string(first.UID))
	b.succeed(second)
	if got := <-done; got.err != nil {
		t.Error(got.err)
	}
}

// A Job that failed is replaced by the next caller, and by that one only.
func TestFailedJobIsReplaced(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	audit := devtest.RecordAudit(t, b.cluster)
	done := b.start(t.Context(), b.backend(b.config()), solveOf("web"))
	first := b.job(t.Context())
	b.end(b.pod(first), corev1.PodFailed, 1, "error: failed to solve: no\n")
	var failed *dockerfile.SolveError
	if got := <-done; !errors.As(got.err, &failed) || !strings.Contains(failed.Err.Error(), "failed to solve: no") {
		t.Fatalf("error %v", got.err)
	}
	b.finished(first, batchv1.JobFailed)

	done = b.start(t.Context(), b.backend(b.config()), solveOf("web"))
	second := b.job(t.Context(), string(first.UID))
	b.succeed(second)
	if got := <-done; got.err != nil {
		t.Error(got.err)
	}
	deleted := audit.Events(t, func(e devenv.AuditEvent) bool {
		return e.Namespace == b.namespace && e.Verb == "delete" && e.Resource == "jobs"
	})
	for _, e := range deleted {
		if uid, _ := e.Preconditions(); uid != string(first.UID) {
			t.Errorf("deleted with UID %q, want %q", uid, first.UID)
		}
	}
	if len(deleted) != 1 {
		t.Errorf("%d deletions", len(deleted))
	}
}

// Several callers that find a failed Job replace it by one.
func TestFailedJobIsReplacedOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	done := b.start(t.Context(), b.backend(b.config()), solveOf("web"))
	first := b.job(t.Context())
	b.end(b.pod(first), corev1.PodFailed, 1, "error: no\n")
	<-done
	b.finished(first, batchv1.JobFailed)
	var callers []<-chan solved
	for range 5 {
		callers = append(callers, b.start(t.Context(), b.backend(b.config()), solveOf("web")))
	}
	second := b.job(t.Context(), string(first.UID))
	b.succeed(second)
	for _, done := range callers {
		if got := <-done; got.err != nil {
			t.Error(got.err)
		}
	}
	if left := b.remaining(); len(left) != 1 || left[0].UID != second.UID {
		t.Errorf("Jobs %+v", left)
	}
}

// Nothing of a Job is left when its time to live is over.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.config()
	c.TTL = time.Second
	done := b.start(t.Context(), b.backend(c), solveOf("web"))
	b.succeed(b.job(t.Context()))
	if got := <-done; got.err != nil {
		t.Fatal(got.err)
	}
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		pods, err := b.client.CoreV1().Pods(b.namespace).List(ctx, metav1.ListOptions{})
		return err == nil && len(pods.Items) == 0 && len(b.remaining()) == 0, err
	})
	if err != nil {
		t.Error(err)
	}
}

// Whoever created a Job that is deleted is told so; whoever only waited for it, since
// its creator gave up, builds by himself.
func TestDeletedJob(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	creator := b.start(t.Context(), b.backend(b.config()), solveOf("web"))
	first := b.job(t.Context())
	b.pod(first)
	c := b.config()
	rest, counter := devtest.Count(c.REST)
	c.REST = rest
	waiter := b.start(t.Context(), b.backend(c), solveOf("web"))
	b.watches(counter)
	b.remove(first)
	var failed *lifecycle.Error
	if got := <-creator; !errors.As(got.err, &failed) || failed.Class != nil || !strings.Contains(got.err.Error(), "was deleted") {
		t.Errorf("error %v", got.err)
	}
	b.succeed(b.job(t.Context(), string(first.UID)))
	if got := <-waiter; got.err != nil {
		t.Error(got.err)
	}
}

// When ctx ends, its creator deletes the Job, unless it is to go on; whoever only
// waited does not.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ goOn, waiter, stays bool }{
		"creator": {}, "creator, going on": {goOn: true, stays: true}, "waiter": {waiter: true, stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			audit := devtest.RecordAudit(t, b.cluster)
			c := b.config()
			c.GoOn = tc.goOn
			why := errors.New("Ctrl-C")
			ctx, cancel := context.WithCancelCause(t.Context())
			creator := ctx
			if tc.waiter {
				creator = t.Context()
			}
			first := b.start(creator, b.backend(c), solveOf("web"))
			j := b.job(t.Context())
			b.pod(j)
			done := first
			if tc.waiter {
				rest, counter := devtest.Count(c.REST)
				c.REST = rest
				done = b.start(ctx, b.backend(c), solveOf("web"))
				b.watches(counter)
			}
			cancel(why)
			if got := <-done; !errors.Is(got.err, why) {
				t.Errorf("error %v", got.err)
			}
			if stays := len(b.remaining()) == 1; stays != tc.stays {
				t.Errorf("the Job stays: %v", stays)
			}
			for _, e := range audit.Events(t, func(e devenv.AuditEvent) bool {
				return e.Namespace == b.namespace && e.Verb == "delete" && e.Resource == "jobs"
			}) {
				if uid, _ := e.Preconditions(); uid != string(j.UID) {
					t.Errorf("deleted with UID %q", uid)
				}
			}
			if tc.waiter {
				b.succeed(j)
				if got := <-first; got.err != nil {
					t.Error(got.err)
				}
			}
		})
	}
}

// A Job of that name that is another is left alone.
func TestAnothersJob(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := b.start(ctx, b.backend(b.config()), solveOf("web"))
	j := b.job(t.Context())
	cancel()
	<-done
	j.ObjectMeta = metav1.ObjectMeta{Name: j.Name, Namespace: j.Namespace}
	j.Spec.Selector, j.Spec.Template.Labels = nil, nil
	if _, err := b.client.BatchV1().Jobs(b.namespace).Create(t.Context(), j, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.backend(b.config()).Solve(t.Context(), solveOf("web")); err == nil || !strings.Contains(err.Error(), "not of this build") {
		t.Errorf("error %v", err)
	}
}
