package workload

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle/supervise"
)

// StateOf reads what the annotations of a workload say. Whether it is parked, and why,
// is what pharos.dev/parked says: where somebody has removed it, the budget is full.
// The error matches supervise.ErrDamaged.
func StateOf(annotations map[string]string) (supervise.State, error) {
	var s supervise.State
	if text, ok := annotations[keys.RestartBudget]; ok {
		var err error
		if s, err = supervise.Decode([]byte(text)); err != nil {
			return supervise.State{}, fmt.Errorf("annotation %s: %w", keys.RestartBudget, err)
		}
	}
	reason, parked := annotations[keys.Parked]
	switch {
	case parked:
		s.Parked.Reason = cmp.Or(strings.TrimSpace(reason), "no reason is given")
	case s.IsParked():
		return supervise.State{}, nil
	}
	return s, nil
}

// Load implements supervise.Store. One API call.
func (w *Workload) Load(ctx context.Context) (supervise.State, string, error) {
	o, err := w.get(ctx)
	if err != nil {
		return supervise.State{}, "", err
	}
	s, err := StateOf(o.GetAnnotations())
	if err != nil {
		return supervise.State{}, "", fmt.Errorf("%s: %w. Nothing is restarted until it can be read: keep a copy, and remove the annotation", w, err)
	}
	return s, versionOf(o), nil
}

// Save implements supervise.Store. One API call.
func (w *Workload) Save(ctx context.Context, s supervise.State, version string) error {
	annotations := map[string]any{keys.RestartBudget: nil, keys.Parked: nil}
	if s != (supervise.State{}) {
		data, err := supervise.Encode(s)
		if err != nil {
			return err
		}
		annotations[keys.RestartBudget] = string(data)
	}
	if s.IsParked() {
		annotations[keys.Parked] = s.Parked.Reason
	}
	uid, resourceVersion, _ := strings.Cut(version, "/")
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": uid, "resourceVersion": resourceVersion, "annotations": annotations,
	}})
	if err != nil {
		return err
	}
	_, err = w.of.Patch(ctx, w.config.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: keys.Manager})
	if apierrors.IsConflict(err) {
		err = fmt.Errorf("%w: %w", supervise.ErrConflict, err)
	}
	if err != nil {
		return fmt.Errorf("write the restart budget of %s: %w", w, err)
	}
	return nil
}

func (w *Workload) get(ctx context.Context) (*unstructured.Unstructured, error) {
	o, err := w.of.Get(ctx, w.config.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", w, err)
	}
	return o, nil
}

// versionOf names an object as it is, and no other one of its name.
func versionOf(o *unstructured.Unstructured) string {
	return string(o.GetUID()) + "/" + o.GetResourceVersion()
}
