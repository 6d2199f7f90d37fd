package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile"
)

// errGone says that a Job that was waited for is no more.
var errGone = errors.New("the Job was deleted while it ran")

// outage is for how long the API server may be away while a Job is waited for.
const outage = 2 * time.Minute

// wait is one caller's waiting for one Job.
type wait struct {
	*Backend
	job     *batchv1.Job
	image   string // for people
	began   time.Time
	started bool // the container that builds has been seen to run, or to have run
	asked   time.Time
	output  io.Writer
	tail    tail
	ended   chan struct{} // closed when the container that builds has ended
	logged  chan error    // receives what became of the log; nil if it is not followed
}

// await waits for a Job to end and copies its log.
func (b *Backend) await(ctx context.Context, job *batchv1.Job, s dockerfile.Solve) (dockerfile.Solved, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &wait{Backend: b, job: job, image: s.Image, began: time.Now(), output: s.Output, ended: make(chan struct{})}
	if w.output == nil {
		w.output = io.Discard
	}
	defer w.stop(cancel)
	o, err := w.watch(ctx)
	if err != nil {
		return dockerfile.Solved{}, err
	}
	w.finishLog(ctx)
	if o.state == succeeded {
		return o.solved, nil
	}
	if o.hopeless {
		if err := b.api.remove(ctx, job); err != nil {
			b.config.Log.WarnContext(ctx, "the Job could not be deleted; it ends at its deadline", "job", job.Name, "error", err)
		}
	}
	return dockerfile.Solved{}, w.failure(o)
}

// stop ends what is left of following the log.
func (w *wait) stop(cancel context.CancelFunc) {
	cancel()
	if w.logged != nil {
		<-w.logged
	}
}

// finishLog waits for the rest of the log.
func (w *wait) finishLog(ctx context.Context) {
	if w.logged == nil {
		return
	}
	if !isClosed(w.ended) {
		close(w.ended)
	}
	if err := <-w.logged; err != nil && ctx.Err() == nil {
		w.config.Log.WarnContext(ctx, "the log of a build is not complete", "job", w.job.Name, "error", err)
	}
	w.logged = nil
}

// inJob names the image, and the Job for who looks for it in the cluster.
func (w *wait) inJob() string { return w.image + " in Job " + w.config.Namespace + "/" + w.job.Name }

// failure words what ended a build.
func (w *wait) failure(o outcome) error {
	if o.state == rejected {
		printed := w.tail.String()
		if printed == "" {
			printed = o.message // what the kubelet kept of it
		}
		return parseFailure(printed)
	}
	err := errors.New(o.reason)
	if text := strings.TrimSpace(o.message); strings.Contains(text, "\n") {
		err = fmt.Errorf("%s\n%s", o.reason, text)
	}
	failed := &lifecycle.Error{Op: "build image", On: w.inJob(), Err: err, Advice: o.advice}
	if o.unreachable {
		failed.Class = lifecycle.ErrUnreachable
	}
	return failed
}

// watch looks at the Job and its pod until they have come to an end.
func (w *wait) watch(ctx context.Context) (outcome, error) {
	var since time.Time // of the API server's absence
	for {
		o, err := w.observe(ctx)
		switch {
		case ctx.Err() != nil:
			return outcome{}, context.Cause(ctx)
		case errors.Is(err, errGone):
			return outcome{}, &lifecycle.Error{Op: "build image", On: w.inJob(), Err: err,
				Advice: "Build again. If it was not deleted by a person, look for what else removes Jobs in the namespace."}
		case err == nil && o.state > running:
			return o, nil
		case err == nil:
			since = time.Time{} // the watches ended, as they do after a while
		case !kubeclient.Transient(err) && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err):
			return outcome{}, w.fail("watch Job", w.job.Name, err)
		case since.IsZero():
			since = time.Now()
		case time.Since(since) > outage:
			return outcome{}, w.fail("watch Job", w.job.Name, err)
		}
		w.config.Log.DebugContext(ctx, "looking at a Job again", "job", w.job.Name, "error", err)
		select {
		case <-time.After(logPause):
		case <-ctx.Done():
		}
	}
}

// observe reads the Job and its pod and watches them. It returns without an error when
// they have come to an end, or the watches have.
func (w *wait) observe(ctx context.Context) (outcome, error) {
	job, err := w.api.job(ctx, w.job.Name)
	if apierrors.IsNotFound(err) || err == nil && job.UID != w.job.UID {
		return outcome{}, errGone
	}
	if err != nil {
		return outcome{}, err
	}
	list, err := w.api.pods(ctx, job)
	if err != nil {
		return outcome{}, err
	}
	pod := newest(list.Items)
	if o, err := w.judge(ctx, job, pod); err != nil || o.state > running {
		return o, err
	}
	jobs, err := w.api.watchJob(ctx, job, job.ResourceVersion)
	if err != nil {
		return outcome{}, err
	}
	defer jobs.Stop()
	pods, err := w.api.watchPods(ctx, job, list.ResourceVersion)
	if err != nil {
		return outcome{}, err
	}
	defer pods.Stop()
	ticks := time.NewTicker(w.interval)
	defer ticks.Stop()
	for {
		select {
		case e, ok := <-jobs.ResultChan():
			if !ok {
				return outcome{}, nil
			}
			now, is := e.Object.(*batchv1.Job)
			if e.Type == watch.Error || !is {
				return outcome{}, apierrors.FromObject(e.Object)
			}
			if e.Type == watch.Deleted || now.UID != w.job.UID {
				return w.lastLook(ctx, now, pod)
			}
			job = now
		case e, ok := <-pods.ResultChan():
			if !ok {
				return outcome{}, nil
			}
			now, is := e.Object.(*corev1.Pod)
			if e.Type == watch.Error || !is {
				return outcome{}, apierrors.FromObject(e.Object)
			}
			if e.Type == watch.Deleted {
				now = nil
			}
			pod = now
		case <-ticks.C:
		case <-ctx.Done():
			return outcome{}, context.Cause(ctx)
		}
		if o, err := w.judge(ctx, job, pod); err != nil || o.state > running {
			return o, err
		}
	}
}

// lastLook is for a Job that was deleted: it may have been done before.
func (w *wait) lastLook(ctx context.Context, job *batchv1.Job, pod *corev1.Pod) (outcome, error) {
	if job.UID == w.job.UID && pod != nil {
		if o := look(job, pod); o.state == succeeded || o.state == rejected {
			return o, nil
		}
	}
	return outcome{}, errGone
}

// judge says what the Job and its pod have come to, follows the log once there is one,
// and gives up what does not start.
func (w *wait) judge(ctx context.Context, job *batchv1.Job, pod *corev1.Pod) (outcome, error) {
	o := look(job, pod)
	if pod != nil {
		build := statusOf(pod.Status.ContainerStatuses, containerBuild).State
		if build.Running != nil || build.Terminated != nil {
			w.start(ctx, pod.Name)
		}
	}
	if o.state != waiting {
		return o, nil
	}
	return w.impatient(ctx, o, job, pod)
}

// start follows the log.
func (w *wait) start(ctx context.Context, pod string) {
	if w.started {
		return
	}
	w.started = true
	w.logged = make(chan error, 1)
	go func() {
		w.logged <- w.followLog(ctx, pod, w.ended, io.MultiWriter(&w.tail, &plain{to: w.output}))
	}()
}
