package devtest

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Watch begins to watch, as the clients of Kubernetes do.
type Watch func(context.Context, metav1.ListOptions) (watch.Interface, error)

// Await waits until an object of a name is as wanted, and returns it as it was seen last. An API server may end any watch at
// any time, as it does on a loaded machine: one that ends is begun anew, which shows the object as it is by then. The error
// is that of a watch that cannot be begun, or tells that ctx has ended, and why a watch did.
func Await[T any](ctx context.Context, begin Watch, name string, wanted func(T) bool) (last T, err error) {
	failed := "none failed"
	for ctx.Err() == nil {
		w, err := begin(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		if err != nil {
			return last, fmt.Errorf("watch %s: %w", name, err)
		}
		for e := range w.ResultChan() {
			if e.Type == watch.Error {
				failed = apierrors.FromObject(e.Object).Error()
			} else if o, ok := e.Object.(T); ok {
				if last = o; wanted(o) {
					w.Stop()
					return last, nil
				}
			}
		}
		w.Stop()
		select { // what fails at once is not asked for without end
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return last, fmt.Errorf("%s did not become as wanted: %w; of its watches: %s", name, context.Cause(ctx), failed)
}
