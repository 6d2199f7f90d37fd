package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/lifecycle/supervise"
)

// Check implements supervise.Thing.
func (w *Workload) Check(ctx context.Context) (supervise.Observation, error) {
	o, err := w.get(ctx)
	if err != nil {
		return supervise.Observation{}, err
	}
	if o.GetDeletionTimestamp() != nil {
		return supervise.Observation{}, fmt.Errorf("%s is being deleted", w)
	}
	delivered, err := w.config.Delivery(ctx)
	if err != nil {
		return supervise.Observation{}, fmt.Errorf("ask what was delivered: %w", err)
	}
	failing, err := w.failing(ctx, o)
	if err != nil {
		return supervise.Observation{}, err
	}
	return supervise.Observation{Revision: delivery(revisionOf(w.config.Kind, o), delivered), Failure: describe(failing)}, nil
}

// looks is how often Restart looks at pods that change while it deletes them.
const looks = 3

// Restart implements supervise.Thing: it deletes the pods that fail. A pod that has
// changed since it was seen is looked at once more. One that cannot be deleted keeps
// none of the others from it; the error has them all.
func (w *Workload) Restart(ctx context.Context) error {
	o, err := w.get(ctx)
	if err != nil {
		return err
	}
	failing, err := w.failing(ctx, o)
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		changed, err := w.delete(ctx, failing)
		if err != nil || len(changed) == 0 {
			return err
		}
		if n == looks {
			return fmt.Errorf("delete pods of %s: %w: %d of them keep changing", w, supervise.ErrConflict, len(changed))
		}
		if failing, err = w.failing(ctx, o); err != nil {
			return err
		}
		failing = slices.DeleteFunc(failing, func(p corev1.Pod) bool { return !changed[p.UID] })
	}
}

// delete deletes pods as they were seen, and returns those that have changed since.
func (w *Workload) delete(ctx context.Context, pods []corev1.Pod) (changed map[types.UID]bool, err error) {
	changed = map[types.UID]bool{}
	var errs []error
	for _, p := range pods {
		err := w.resource(corev1.SchemeGroupVersion.WithResource("pods")).Delete(ctx, p.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &p.UID, ResourceVersion: &p.ResourceVersion},
		})
		switch {
		case err == nil || apierrors.IsNotFound(err):
		case apierrors.IsConflict(err):
			changed[p.UID] = true
		default:
			errs = append(errs, fmt.Errorf("delete pod %s of %s: %w", p.Name, w, err))
		}
	}
	return changed, errors.Join(errs...)
}
