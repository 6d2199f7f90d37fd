package sweep

import (
	"context"
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
)

// recently is for how long a mark is as good as a new one: several that end the same
// namespace would else only see each other's marks.
const recently = time.Minute

// mark says on a namespace that it is about to be deleted, to whoever would put
// something into it.
func (e *Ender) mark(ctx context.Context, o *reaper.Object) error {
	now := e.clock.Now()
	at, err := reaper.ParseTime(o.Annotations[keys.Ending])
	if err == nil && now.Sub(at).Abs() < recently {
		return nil
	}
	return e.annotate(ctx, namespaces, o, keys.Ending, reaper.FormatTime(now))
}

// unmark takes the mark of a namespace back that is not deleted, if it has one.
func (e *Ender) unmark(ctx context.Context, o reaper.Object) {
	if _, marked := o.Annotations[keys.Ending]; !marked || e.config.DryRun {
		return
	}
	if err := e.annotate(ctx, namespaces, &o, keys.Ending, nil); err != nil {
		e.config.Log.WarnContext(ctx, "a namespace that is not deleted keeps its mark, which the next look takes away",
			"namespace", o.Name, "mark", keys.Ending, "err", err)
	}
}

// annotate writes an annotation, or removes it if the value is nil, on the object as
// it was read, which becomes the one that was written.
func (e *Ender) annotate(ctx context.Context, r Resource, o *reaper.Object, key string, value any) error {
	ctx, cancel := context.WithTimeout(ctx, e.config.RequestTimeout)
	defer cancel()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": o.UID, "resourceVersion": o.ResourceVersion, "annotations": map[string]any{key: value},
	}})
	if err != nil {
		return err
	}
	m, err := e.in(r, o.Namespace).Patch(ctx, o.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: keys.Manager})
	if err != nil {
		return err
	}
	*o = reaper.ObjectOf(r.Group, r.Kind, m)
	return nil
}
