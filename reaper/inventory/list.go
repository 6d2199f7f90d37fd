package inventory

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/reaper"
)

// seen is an object, and of some kinds what is needed of it beside its metadata.
type seen struct {
	reaper.Object
	// owners are the UIDs of what it ends with.
	owners []string
	claim  *corev1.PersistentVolumeClaim
	volume *corev1.PersistentVolume
	set    *appsv1.StatefulSet
}

const protobuf = "application/vnd.kubernetes.protobuf"

// whole are the resources of which more than the metadata is needed: sizes, and what
// makes claims.
var whole = map[string]func() runtime.Object{
	"persistentvolumeclaims": func() runtime.Object { return &corev1.PersistentVolumeClaimList{} },
	"persistentvolumes":      func() runtime.Object { return &corev1.PersistentVolumeList{} },
	"statefulsets.apps":      func() runtime.Object { return &appsv1.StatefulSetList{} },
}

// list reads a resource's objects in a namespace, or all, in pages. It stops with the
// first error; the pages before were given to add.
func (i *Inventory) list(ctx context.Context, r kubeclient.Resource, namespace string, add func([]seen)) error {
	accept, fresh := kubeclient.MetadataOnlyList+",application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", func() runtime.Object { return &metav1.PartialObjectMetadataList{} }
	if into, ok := whole[r.String()]; ok {
		accept, fresh = protobuf, into
	}
	at, err := pathOf(r, namespace, "")
	if err != nil {
		return err
	}
	next, paged, given := "", true, map[string]bool{}
	for {
		page := fresh()
		err := kubeclient.Retry(ctx, func() error {
			get := i.client.Get().AbsPath(at).SetHeader("Accept", accept).MaxRetries(0)
			if paged {
				get.Param("limit", strconv.Itoa(pageSize))
			}
			if next != "" {
				get.Param("continue", next)
			}
			return get.Do(ctx).Into(page)
		})
		switch {
		case (apierrors.IsResourceExpired(err) || apierrors.IsGone(err)) && next != "":
			// The pages took longer than the server keeps history: all at once then.
			next, paged = "", false
			continue
		case err != nil:
			return err
		}
		items, following := itemsOf(r, page)
		items = slices.DeleteFunc(items, func(s seen) bool { return given[s.UID] })
		add(items)
		if next = following; next == "" {
			return nil
		}
		for _, s := range items {
			given[s.UID] = true
		}
	}
}

// pathOf is the path of a resource's objects, or of one of them. The error is of a name
// that would be a path itself, and lead to another object.
func pathOf(r kubeclient.Resource, namespace, name string) (string, error) {
	for _, s := range []string{r.Group, r.Version, r.Resource, namespace, name} {
		if why := content.IsPathSegmentName(s); len(why) > 0 {
			return "", fmt.Errorf("%q is no name: it %s", s, strings.Join(why, " and "))
		}
	}
	at := path.Join("/apis", r.Group, r.Version)
	if r.Group == "" {
		at = path.Join("/api", r.Version)
	}
	if r.Namespaced && namespace != "" {
		at = path.Join(at, "namespaces", namespace)
	}
	return path.Join(at, r.Resource, name), nil
}

// itemsOf takes a page apart. Managed fields, which are most of the metadata, are
// dropped.
func itemsOf(r kubeclient.Resource, page runtime.Object) (items []seen, next string) {
	take := func(m metav1.Object) seen {
		m.SetManagedFields(nil)
		s := seen{Object: reaper.ObjectOf(r.Group, r.Kind, m)}
		for _, o := range m.GetOwnerReferences() {
			s.owners = append(s.owners, string(o.UID))
		}
		return s
	}
	switch page := page.(type) {
	case *metav1.PartialObjectMetadataList:
		return each(page.Items, func(m *metav1.PartialObjectMetadata) seen { return take(m) }), page.Continue
	case *corev1.PersistentVolumeClaimList:
		return each(page.Items, func(c *corev1.PersistentVolumeClaim) seen { s := take(c); s.claim = c; return s }), page.Continue
	case *corev1.PersistentVolumeList:
		return each(page.Items, func(v *corev1.PersistentVolume) seen { s := take(v); s.volume = v; return s }), page.Continue
	case *appsv1.StatefulSetList:
		return each(page.Items, func(set *appsv1.StatefulSet) seen { s := take(set); s.set = set; return s }), page.Continue
	}
	return nil, ""
}

func each[T any](items []T, take func(*T) seen) []seen {
	all := make([]seen, len(items))
	for n := range items {
		all[n] = take(&items[n])
	}
	return all
}

// get reads the metadata of one object.
func (i *Inventory) get(ctx context.Context, r kubeclient.Resource, namespace, name string) (reaper.Object, error) {
	if name == "" {
		return reaper.Object{}, errors.New("it has no name")
	}
	at, err := pathOf(r, namespace, name)
	if err != nil {
		return reaper.Object{}, err
	}
	m := &metav1.PartialObjectMetadata{}
	err = kubeclient.Retry(ctx, func() error {
		return i.client.Get().AbsPath(at).SetHeader("Accept", kubeclient.MetadataOnly).MaxRetries(0).Do(ctx).Into(m)
	})
	if err != nil {
		return reaper.Object{}, err
	}
	return reaper.ObjectOf(r.Group, r.Kind, m), nil
}

// gapOf says why something could not be read.
func gapOf(r kubeclient.Resource, namespace, name string, err error) Gap {
	g := Gap{Resource: r.String(), Namespace: namespace, Name: name, Forbidden: apierrors.IsForbidden(err), Message: err.Error()}
	if apierrors.IsNotFound(err) && name == "" {
		g.Message = fmt.Sprintf("it is not served any more: %v", err)
	}
	return g
}
