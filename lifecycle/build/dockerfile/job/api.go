package job

import (
	"context"
	"io"
	"log/slog"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// api makes the calls to the API server.
type api struct {
	namespace   string
	batch, core *rest.RESTClient
	// These are for answers that go on and on.
	batchStream, coreStream *rest.RESTClient
}

func newAPI(config *rest.Config, namespace string, log *slog.Logger) (*api, error) {
	a := &api{namespace: namespace}
	config = rest.CopyConfig(config)
	if config.WarningHandler == nil && config.WarningHandlerWithContext == nil {
		config.WarningHandlerWithContext = warnings{log} // the default prints
	}
	endless := rest.CopyConfig(config)
	endless.Timeout = -1
	var err error
	for _, c := range []struct {
		client **rest.RESTClient
		config *rest.Config
		batch  bool
	}{{&a.batch, config, true}, {&a.batchStream, endless, true}, {&a.core, config, false}, {&a.coreStream, endless, false}} {
		if c.batch {
			*c.client, err = kubeclient.New(c.config, batchv1.SchemeGroupVersion, batchv1.AddToScheme)
		} else {
			*c.client, err = kubeclient.New(c.config, corev1.SchemeGroupVersion, corev1.AddToScheme)
		}
		if err != nil {
			return nil, err
		}
	}
	return a, nil
}

// warnings logs what the API server remarks on.
type warnings struct{ log *slog.Logger }

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w warnings) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	if code == 299 && text != "" { // as the API server uses them
		w.log.WarnContext(ctx, "the API server warns", "warning", text)
	}
}

// job reads a Job.
func (a *api) job(ctx context.Context, name string) (*batchv1.Job, error) {
	job := &batchv1.Job{}
	err := kubeclient.Retry(ctx, func() error {
		return a.batch.Get().MaxRetries(0).Namespace(a.namespace).Resource("jobs").Name(name).Do(ctx).Into(job)
	})
	return job, err
}

// create creates a Job. If the answer to a try is lost, the next one finds that it
// exists already.
func (a *api) create(ctx context.Context, spec *batchv1.Job) (*batchv1.Job, error) {
	job := &batchv1.Job{}
	err := kubeclient.Retry(ctx, func() error {
		return a.batch.Post().MaxRetries(0).Namespace(a.namespace).Resource("jobs").Body(spec).Do(ctx).Into(job)
	})
	return job, err
}

// remove deletes a Job, unless it is gone already or there is another one of its name.
func (a *api) remove(ctx context.Context, job *batchv1.Job) error {
	err := kubeclient.Retry(ctx, func() error {
		return a.batch.Delete().MaxRetries(0).Namespace(a.namespace).Resource("jobs").Name(job.Name).Body(deletion(job)).Do(ctx).Error()
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// gone waits until a Job that is being deleted is gone.
func (a *api) gone(ctx context.Context, job *batchv1.Job, every time.Duration) error {
	for {
		now, err := a.job(ctx, job.Name)
		if apierrors.IsNotFound(err) || err == nil && now.UID != job.UID {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// podsOf selects the pods of a Job.
func podsOf(job *batchv1.Job) string { return batchv1.ControllerUidLabel + "=" + string(job.UID) }

func (a *api) pods(ctx context.Context, job *batchv1.Job) (*corev1.PodList, error) {
	pods := &corev1.PodList{}
	err := kubeclient.Retry(ctx, func() error {
		return a.core.Get().MaxRetries(0).Namespace(a.namespace).Resource("pods").Param("labelSelector", podsOf(job)).Do(ctx).Into(pods)
	})
	return pods, err
}

// pod returns a Job's pod, nil if there is none.
func (a *api) pod(ctx context.Context, job *batchv1.Job) (*corev1.Pod, error) {
	pods, err := a.pods(ctx, job)
	if err != nil {
		return nil, err
	}
	return newest(pods.Items), nil
}

func newest(pods []corev1.Pod) *corev1.Pod {
	var pod *corev1.Pod
	for i := range pods {
		if pod == nil || pod.CreationTimestamp.Before(&pods[i].CreationTimestamp) {
			pod = &pods[i]
		}
	}
	return pod
}

// events returns what was said of an object.
func (a *api) events(ctx context.Context, uid string) ([]corev1.Event, error) {
	events := &corev1.EventList{}
	err := kubeclient.Retry(ctx, func() error {
		return a.core.Get().MaxRetries(0).Namespace(a.namespace).Resource("events").Param("fieldSelector", "involvedObject.uid="+uid).Do(ctx).Into(events)
	})
	return events.Items, err
}

// A watch ends by itself after a while, so that one of a dead connection does.
const watchSeconds = "300"

func (a *api) watchJob(ctx context.Context, job *batchv1.Job, version string) (watch.Interface, error) {
	return a.batchStream.Get().MaxRetries(0).Namespace(a.namespace).Resource("jobs").Param("watch", "true").
		Param("timeoutSeconds", watchSeconds).Param("resourceVersion", version).
		Param("fieldSelector", "metadata.name="+job.Name).Watch(ctx)
}

func (a *api) watchPods(ctx context.Context, job *batchv1.Job, version string) (watch.Interface, error) {
	return a.coreStream.Get().MaxRetries(0).Namespace(a.namespace).Resource("pods").Param("watch", "true").
		Param("timeoutSeconds", watchSeconds).Param("resourceVersion", version).
		Param("labelSelector", podsOf(job)).Watch(ctx)
}

// log follows the log of a container from a time on, "" from its beginning, each line
// with its time before it.
func (a *api) log(ctx context.Context, pod, container, since string) (io.ReadCloser, error) {
	r := a.coreStream.Get().MaxRetries(0).Namespace(a.namespace).Resource("pods").Name(pod).SubResource("log").
		Param("container", container).Param("follow", "true").Param("timestamps", "true")
	if since != "" {
		r = r.Param("sinceTime", since)
	}
	return r.Stream(ctx)
}
