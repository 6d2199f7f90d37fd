package harmless

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
)

// somebody creates, changes and deletes objects at random.
type somebody struct {
	*rand.Rand
	client dynamic.Interface
	reap   *reaper.Client
	// arenas stay, boxes come and go; both have objects in them.
	arenas, boxes []string
	owners        map[string]types.UID // of a ConfigMap "owner" in each arena
	skew          time.Duration        // of their clock
}

// names are few, so that they are taken again and again.
const names = 12

func one[T any](s *somebody, of []T) T { return of[s.IntN(len(of))] }

func (s *somebody) chance(percent int) bool { return s.IntN(100) < percent }

// now is the time by their clock.
func (s *somebody) now() time.Time { return time.Now().Add(s.skew) }

// step does one thing. What others did meanwhile may be in its way.
func (s *somebody) step(ctx context.Context) error {
	s.pause(ctx, time.Duration(s.Int64N(int64(50*time.Millisecond))))
	r, namespace, name := s.pick()
	var err error
	switch n := s.IntN(100); {
	case n < 45:
		err = s.create(ctx, r, namespace, name, s.meta(r, namespace))
	case n < 57:
		err = s.change(ctx, r, namespace, name)
	case n < 77:
		err = s.atTheLastMoment(ctx, r, namespace, name)
	case n < 81:
		err = s.again(ctx, r, namespace, name)
	case n < 86:
		err = s.free(ctx, r, namespace, name)
	case n < 97:
		err = s.use(ctx, r, namespace, name)
	default:
		err = s.in(r, namespace).Delete(ctx, name, metav1.DeleteOptions{})
	}
	switch {
	case ctx.Err() != nil, err == nil, apierrors.IsNotFound(err), apierrors.IsAlreadyExists(err), apierrors.IsConflict(err), apierrors.IsForbidden(err) && namespace != "":
		return nil // a namespace that is being deleted forbids to create in it
	case apierrors.IsInvalid(err): // such as a finalizer added to what is being deleted
		return nil
	}
	return err
}

func (s *somebody) pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func (s *somebody) pick() (r schema.GroupVersionResource, namespace, name string) {
	if r = one(s, resources); r.Resource == "namespaces" {
		return r, "", one(s, s.boxes)
	}
	namespace = one(s, s.arenas)
	if s.chance(10) {
		namespace = one(s, s.boxes)
	}
	return r, namespace, fmt.Sprintf("object-%d", s.IntN(names))
}

func (s *somebody) in(r schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return s.client.Resource(r)
	}
	return s.client.Resource(r).Namespace(namespace)
}

var kinds = map[string]string{"namespaces": "Namespace", "configmaps": "ConfigMap", "leases": "Lease"}

func (s *somebody) create(ctx context.Context, r schema.GroupVersionResource, namespace, name string, meta map[string]any) error {
	meta["name"] = name
	o := &unstructured.Unstructured{Object: map[string]any{"metadata": meta}}
	o.SetGroupVersionKind(r.GroupVersion().WithKind(kinds[r.Resource]))
	_, err := s.in(r, namespace).Create(ctx, o, metav1.CreateOptions{})
	return err
}

// change says something else of an object.
func (s *somebody) change(ctx context.Context, r schema.GroupVersionResource, namespace, name string) error {
	o, err := s.in(r, namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	meta := s.meta(r, namespace)
	for _, field := range []string{"labels", "annotations", "ownerReferences"} {
		if s.chance(60) {
			o.Object["metadata"].(map[string]any)[field] = meta[field]
		}
	}
	_, err = s.in(r, namespace).Update(ctx, o, metav1.UpdateOptions{})
	return err
}

// atTheLastMoment changes an object shortly before or after its end, or replaces it.
func (s *somebody) atTheLastMoment(ctx context.Context, r schema.GroupVersionResource, namespace, name string) error {
	o, err := s.in(r, namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	end, _ := endOf(metav1.ObjectMeta{CreationTimestamp: o.GetCreationTimestamp(), Annotations: o.GetAnnotations()})
	wait := time.Until(end)
	if wait > 3*time.Second {
		return nil
	}
	s.pause(ctx, max(wait, 0)+time.Duration(s.IntN(80)-20)*time.Millisecond)
	annotations := func(key string, value any) map[string]any {
		return map[string]any{"annotations": map[string]any{key: value}}
	}
	labels := func(key string, value any) map[string]any {
		return map[string]any{"labels": map[string]any{key: value}}
	}
	patch := one(s, []map[string]any{
		annotations(keys.TTL, "1h"),
		annotations(keys.TTL, "2s"),
		annotations(keys.TTL, one(s, noDurations)),
		annotations(keys.LastActive, reaper.FormatTime(s.now())),
		annotations(keys.ExpiresAt, "2126-01-02T03:04:05Z"),
		annotations(keys.Grace, one(s, []string{"3s", "1h"})),
		labels(keys.Intent, one(s, []string{"retained", "transient"})),
		labels(keys.Intent, nil),
		labels(keys.Target, "devbox"),
		nil, // another one of its name
	})
	if patch == nil {
		return s.replace(ctx, r, namespace, name)
	}
	if owner := s.owners[namespace]; owner != "" && s.chance(10) {
		patch = map[string]any{"ownerReferences": []any{ownedBy(owner)}}
	}
	return s.patch(ctx, r, namespace, name, patch)
}

func (s *somebody) patch(ctx context.Context, r schema.GroupVersionResource, namespace, name string, meta map[string]any) error {
	body, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		return err
	}
	_, err = s.in(r, namespace).Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{})
	return err
}

// replace puts another object in the place of one, at once.
func (s *somebody) replace(ctx context.Context, r schema.GroupVersionResource, namespace, name string) error {
	if err := s.in(r, namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return s.create(ctx, r, namespace, name, s.meta(r, namespace))
}

// again deletes and creates one a few times.
func (s *somebody) again(ctx context.Context, r schema.GroupVersionResource, namespace, name string) error {
	for range 3 {
		if err := s.replace(ctx, r, namespace, name); err != nil {
			return err
		}
	}
	return nil
}

// free removes finalizers.
func (s *somebody) free(ctx context.Context, r schema.GroupVersionResource, namespace, name string) error {
	return s.patch(ctx, r, namespace, name, map[string]any{"finalizers": nil})
}

// use touches or extends an object, as its users do.
func (s *somebody) use(ctx context.Context, r schema.GroupVersionResource, namespace, name string) error {
	ref := reaper.Ref{Group: r.Group, Version: r.Version, Resource: r.Resource, Namespace: namespace, Name: name}
	o, err := s.reap.Get(ctx, ref)
	if err != nil {
		return err
	}
	ref.UID = o.UID
	if s.chance(70) {
		_, err = s.reap.Touch(ctx, ref, reaper.Change{})
	} else {
		_, err = s.reap.Extend(ctx, ref, one(s, []time.Duration{2 * time.Second, time.Hour}), reaper.Change{})
	}
	for _, known := range []error{reaper.ErrGone, reaper.ErrEnding, reaper.ErrNotTransient, reaper.ErrConflict, reaper.ErrIntent} {
		if errors.Is(err, known) {
			return nil
		}
	}
	return err
}

// meta is what somebody says of an object.
func (s *somebody) meta(r schema.GroupVersionResource, namespace string) map[string]any {
	labels, annotations := map[string]any{}, map[string]any{}
	switch n := s.IntN(100); {
	case n < 80:
		labels[keys.Intent] = "transient"
	case n < 90:
		labels[keys.Intent] = "retained"
	case n < 95:
		labels[keys.Intent] = one(s, noIntents)
	}
	soon := func(most time.Duration) string {
		at := s.now().Add(time.Duration(s.Int64N(int64(most)))).Round(time.Second)
		if s.chance(30) {
			return at.In(time.FixedZone("", 2*60*60)).Format(time.RFC3339)
		}
		return reaper.FormatTime(at)
	}
	if s.chance(85) {
		annotations[keys.TTL] = one(s, []string{"1s", "1s", "1s", "2s", "2s", "2s", "3s", one(s, []string{"1h", "36h", "1d12h", "2w"})})
	}
	if s.chance(30) {
		annotations[keys.ExpiresAt] = soon(4 * time.Second)
	}
	if s.chance(30) {
		annotations[keys.LastActive] = soon(3 * time.Second)
	}
	if s.chance(15) {
		annotations[keys.Grace] = one(s, []string{"1s", "2s", "1h"})
	}
	if s.chance(8) {
		annotations[one(s, []string{keys.TTL, keys.Grace})] = one(s, noDurations)
	}
	if s.chance(5) {
		annotations[one(s, []string{keys.ExpiresAt, keys.LastActive})] = one(s, noTimes)
	}
	if s.chance(10) {
		k := one(s, append(stays[:len(stays):len(stays)], declared...))
		if k.label != "" {
			labels[k.label] = k.value
		} else {
			annotations[k.annotation] = k.value
		}
	}
	meta := map[string]any{"labels": labels, "annotations": annotations}
	if owner := s.owners[namespace]; owner != "" && s.chance(8) {
		meta["ownerReferences"] = []any{ownedBy(owner)}
	}
	if r.Resource != "namespaces" && s.chance(8) {
		meta["finalizers"] = []any{finalizer}
	}
	return meta
}

const finalizer = "example.org/hold"

func ownedBy(owner types.UID) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": string(owner)}
}
