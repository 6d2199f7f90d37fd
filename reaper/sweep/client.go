package sweep

import (
	"context"
	"errors"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/reaper"
)

func newPlain(config *rest.Config) (rest.Interface, error) {
	return kubeclient.New(config, eventsv1.SchemeGroupVersion, eventsv1.AddToScheme)
}

var errNoDate = errors.New("the API server's answers have no Date, without which it cannot be told what is past its end")

// in is the client of a resource's objects in a namespace, which may be "".
func (e *Ender) in(r Resource, namespace string) metadata.ResourceInterface {
	if namespace == "" {
		return e.meta.Resource(r.GVR())
	}
	return e.meta.Resource(r.GVR()).Namespace(namespace)
}

// get reads what decides about an object, and when that was, by the answer itself.
func (e *Ender) get(ctx context.Context, r Resource, namespace, name string) (reaper.Object, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, e.config.RequestTimeout)
	defer cancel()
	ctx, now := e.clock.Ask(ctx)
	m, err := e.in(r, namespace).Get(ctx, name, metav1.GetOptions{})
	if err == nil && !e.clock.Heard() {
		err = errNoDate
	}
	if err != nil {
		return reaper.Object{}, time.Time{}, err
	}
	return reaper.ObjectOf(r.Group, r.Kind, m), now(), nil
}

// delete deletes the object as it was read.
func (e *Ender) delete(ctx context.Context, r Resource, o reaper.Object) error {
	ctx, cancel := context.WithTimeout(ctx, e.config.RequestTimeout)
	defer cancel()
	background := metav1.DeletePropagationBackground
	return e.in(r, o.Namespace).Delete(ctx, o.Name, metav1.DeleteOptions{
		Preconditions:     preconditions(o),
		PropagationPolicy: &background,
	})
}
