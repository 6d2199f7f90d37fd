package job

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile"
)

// Backend has BuildKit build images in Jobs. It is safe for concurrent use, also by
// several processes on several machines.
type Backend struct {
	config Config
	api    *api
	// interval is how long it takes at least from one look at a Job to the next where
	// nothing is said to have changed.
	interval time.Duration
}

var (
	_ dockerfile.Backend  = (*Backend)(nil)
	_ dockerfile.Supplier = (*Backend)(nil)
)

// New returns a Backend. It makes no call. The error says all that is wrong with the
// Config.
func New(c Config) (*Backend, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("set up builds in Jobs: %w", err)
	}
	api, err := newAPI(c.REST, c.Namespace, c.Log)
	if err != nil {
		return nil, fmt.Errorf("set up builds in Jobs: %w", err)
	}
	return &Backend{config: c, api: api, interval: 2 * time.Second}, nil
}

// Solve implements dockerfile.Backend. Beside the errors that are named there, it
// returns a *lifecycle.Error: of class lifecycle.ErrUnreachable if the API server, the
// Git server or BuildKit's image cannot be reached, or does not let us or the pod in;
// so too if the cluster does not let the pod start, for whatever reason; of no class for a
// Job that was deleted, a pod that is evicted, and a deadline that is over.
func (b *Backend) Solve(ctx context.Context, s dockerfile.Solve) (dockerfile.Solved, error) {
	if err := b.supplied(s); err != nil {
		return dockerfile.Solved{}, err
	}
	id := b.identify(s)
	for {
		job, mine, err := b.ensure(ctx, id, s)
		if err != nil {
			return dockerfile.Solved{}, err
		}
		if finished(job) {
			solved, again, err := b.reuse(ctx, job, s)
			if !again {
				return solved, err
			}
			continue
		}
		solved, err := b.await(ctx, job, s)
		switch {
		case ctx.Err() != nil:
			if mine && !b.config.GoOn {
				b.cancel(ctx, job)
			}
			return dockerfile.Solved{}, context.Cause(ctx)
		case errors.Is(err, errGone) && !mine:
			b.config.Log.InfoContext(ctx, "somebody deleted the Job that was waited for; building again", "job", job.Name)
			continue
		}
		return solved, err
	}
}

// supplied refuses secrets for which no Secret is named.
func (b *Backend) supplied(s dockerfile.Solve) error {
	lacking := &dockerfile.NotSuppliedError{}
	if b.config.BuildSecret == "" {
		lacking.Secrets = s.Secrets
	}
	if b.config.SSHSecret == "" {
		lacking.SSH = s.SSH
	}
	if len(lacking.Secrets)+len(lacking.SSH) == 0 {
		return nil
	}
	var fields []string
	if len(lacking.Secrets) > 0 {
		fields = append(fields, "spec.buildkit.job.buildSecret")
	}
	if len(lacking.SSH) > 0 {
		fields = append(fields, "spec.buildkit.job.sshSecret")
	}
	lacking.Advice = fmt.Sprintf("Jobs take it from a Secret in namespace %s whose keys are the ids: name it in %s of the Target; what is given to this machine (--secret, --ssh) does not reach them",
		b.config.Namespace, strings.Join(fields, " and "))
	return lacking
}

// Supplied implements dockerfile.Supplier. Whether the Secrets are there and hold
// these keys is found out by the Job.
func (b *Backend) Supplied(_ context.Context, secrets, ssh []string) error {
	return b.supplied(dockerfile.Solve{Secrets: secrets, SSH: ssh})
}

// ensure returns the Job of a build: one that is there and has not failed, or a new
// one, which is mine.
func (b *Backend) ensure(ctx context.Context, id identity, s dockerfile.Solve) (job *batchv1.Job, mine bool, err error) {
	name := id.name()
	writeID := rand.Text()
	var spec *batchv1.Job
	for {
		job, err := b.api.job(ctx, name)
		switch {
		case apierrors.IsNotFound(err):
			if spec == nil {
				here, err := b.here(s)
				if err != nil {
					return nil, false, err
				}
				in, err := b.config.Pusher.PushInputs(ctx, s.Inputs)
				if err != nil {
					return nil, false, ofImage(s.Image, err)
				}
				spec = b.spec(id, here, in, writeID)
			}
			job, err = b.api.create(ctx, spec)
			if err == nil {
				b.config.Log.DebugContext(ctx, "created a Job", "job", name, "image", id.image)
				return job, true, nil
			}
			if ctx.Err() != nil {
				b.cancelUnconfirmed(ctx, name, writeID)
				return nil, false, context.Cause(ctx)
			}
			if !apierrors.IsAlreadyExists(err) {
				return nil, false, b.fail("create Job", name, err)
			}
			continue // somebody was faster, or the answer to an earlier try was lost
		case err != nil:
			return nil, false, b.fail("read Job", name, err)
		}
		if err := id.owns(job); err != nil {
			return nil, false, b.fail("use Job", name, err)
		}
		switch {
		case job.DeletionTimestamp != nil:
			err = b.api.gone(ctx, job, b.interval)
		case failed(job):
			b.config.Log.DebugContext(ctx, "replacing a Job that failed", "job", name)
			err = b.api.remove(ctx, job)
		default:
			return job, job.Annotations[keys.WriteID] == writeID, nil
		}
		if err != nil {
			return nil, false, b.fail("replace Job", name, err)
		}
	}
}

// owns refuses a Job that stands where ours is to be and is another.
func (id identity) owns(job *batchv1.Job) error {
	if job.Labels[keys.BuildOf] == id.target && job.Annotations[keys.Fingerprint] == string(id.fingerprint) &&
		job.Annotations[keys.BuildRepository] == id.repository {
		return nil
	}
	return errors.New("there is another one of this name, which is not of this build: remove or rename it")
}

// reuse takes the image of a Job that is done if the registry still has it. If not,
// it removes the Job, and the image is to be built again.
func (b *Backend) reuse(ctx context.Context, job *batchv1.Job, s dockerfile.Solve) (solved dockerfile.Solved, again bool, err error) {
	pod, err := b.api.pod(ctx, job)
	if err != nil {
		return dockerfile.Solved{}, false, b.fail("read the pod of Job", job.Name, err)
	}
	if o := look(job, pod); o.state == succeeded && b.config.Registry != nil {
		_, err := b.config.Registry.Verify(ctx, s.Repository, o.solved.Digest)
		if err == nil {
			b.config.Log.DebugContext(ctx, "an earlier Job has built the image", "job", job.Name, "digest", o.solved.Digest)
			return o.solved, false, nil
		}
		if !errors.Is(err, lifecycle.ErrImageNotFound) {
			return dockerfile.Solved{}, false, err
		}
	}
	if err := b.api.remove(ctx, job); err != nil {
		return dockerfile.Solved{}, false, b.fail("replace Job", job.Name, err)
	}
	return dockerfile.Solved{}, true, nil
}

// cancelWithin bounds how long it takes to delete a Job once ctx has ended.
const cancelWithin = 10 * time.Second

// cancel deletes a Job when ctx has ended.
func (b *Backend) cancel(ctx context.Context, job *batchv1.Job) {
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), cancelWithin)
	defer end()
	if err := b.api.remove(ctx, job); err != nil {
		b.config.Log.WarnContext(ctx, "the Job could not be deleted; it ends at its deadline", "job", job.Name, "error", err)
	}
}

// cancelUnconfirmed deletes a Job of which ctx's end has left open whether it was
// created.
func (b *Backend) cancelUnconfirmed(ctx context.Context, name, writeID string) {
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), cancelWithin)
	defer end()
	job, err := b.api.job(ctx, name)
	if err == nil && job.Annotations[keys.WriteID] == writeID && !b.config.GoOn {
		b.cancel(ctx, job)
	}
}

// ofImage names the image whose inputs could not be pushed.
func ofImage(image string, err error) error {
	failed, ok := err.(*lifecycle.Error)
	if !ok {
		return err
	}
	of := *failed
	of.Op = "build image " + image + ": " + of.Op
	return &of
}

// rights are those that the package comment lists, where a user of the plugin finds them.
const rights = "What is needed is to get, watch, create and delete jobs, list and watch pods, get pods/log and list events: https://github.com/pharos-dev/pharos/blob/main/docs/build-jobs.md#rights"

// fail words an error of the API server.
func (b *Backend) fail(op, name string, err error) error {
	e := &lifecycle.Error{Op: op, On: b.config.Namespace + "/" + name, Err: err}
	if kubeclient.Unavailable(err) {
		e.Class = lifecycle.ErrUnreachable
	}
	switch {
	case kubeclient.NamespaceMissing(err):
		e.Advice = "Create the namespace: kubectl create namespace " + b.config.Namespace
	case apierrors.IsForbidden(err):
		e.Advice = kubeclient.ForbiddenAdvice(err, b.config.Namespace, rights)
	}
	return e
}

func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// deletion deletes exactly that object, and has its pod collected afterwards.
func deletion(job *batchv1.Job) *metav1.DeleteOptions {
	background := metav1.DeletePropagationBackground
	return &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &job.UID}, PropagationPolicy: &background}
}
