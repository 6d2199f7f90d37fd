package harmless

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// resources are those of which there are objects.
var resources = []schema.GroupVersionResource{
	{Version: "v1", Resource: "namespaces"},
	{Version: "v1", Resource: "configmaps"},
	{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"},
}

// version is what an object said from one change of the cluster on.
type version struct {
	resource string
	revision int64 // of the whole cluster: etcd's
	meta     metav1.ObjectMeta
	gone     bool      // it is not there any more
	heard    time.Time // when it was known to be so at the latest
}

// history is every version of every object.
type history struct {
	mu    sync.Mutex
	of    map[string][]version // by UID, in order
	heard map[string]int64     // the last revision of each resource
}

// record writes down what becomes of all objects, from now on until ctx ends.
func record(ctx context.Context, t *testing.T, config *rest.Config) *history {
	t.Helper()
	client, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	h := &history{of: map[string][]version{}, heard: map[string]int64{}}
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	for _, r := range resources {
		first, err := client.Resource(r).List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range first.Items {
			h.add(t, r.Resource, watch.Added, &first.Items[i])
		}
		wg.Go(func() { h.follow(ctx, t, client.Resource(r), r.Resource, first.ResourceVersion) })
	}
	return h
}

// follow watches a resource, and goes on where a watch has ended.
func (h *history) follow(ctx context.Context, t *testing.T, client metadata.ResourceInterface, resource, resourceVersion string) {
	for ctx.Err() == nil {
		w, err := client.Watch(ctx, metav1.ListOptions{ResourceVersion: resourceVersion})
		if err != nil {
			if ctx.Err() == nil {
				t.Errorf("watch %s: %v", resource, err)
			}
			return
		}
		for event := range w.ResultChan() {
			m, ok := event.Object.(*metav1.PartialObjectMetadata)
			if !ok {
				if err := apierrors.FromObject(event.Object); apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
					t.Errorf("the history of %s has a hole: %v", resource, err)
					return
				}
				continue // the stream ends
			}
			h.add(t, resource, event.Type, m)
			resourceVersion = m.ResourceVersion
		}
	}
}

func (h *history) add(t *testing.T, resource string, event watch.EventType, m *metav1.PartialObjectMetadata) {
	revision, err := strconv.ParseInt(m.ResourceVersion, 10, 64)
	if err != nil {
		t.Errorf("%s %s/%s: %v", resource, m.Namespace, m.Name, err)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heard[resource] = max(h.heard[resource], revision)
	if event == watch.Bookmark {
		return
	}
	v := version{resource, revision, m.ObjectMeta, event == watch.Deleted, time.Now()}
	h.of[string(m.UID)] = append(h.of[string(m.UID)], v)
}

// reached says whether all up to this revision of a resource is known.
func (h *history) reached(resource, resourceVersion string) bool {
	revision, err := strconv.ParseInt(resourceVersion, 10, 64)
	h.mu.Lock()
	defer h.mu.Unlock()
	return err == nil && h.heard[resource] >= revision
}

// at returns the version of the object and the one that came after it, if they are
// known.
func (h *history) at(uid, resourceVersion string) (v, next *version) {
	for i, known := range h.of[uid] {
		if strconv.FormatInt(known.revision, 10) == resourceVersion && !known.gone {
			if i+1 < len(h.of[uid]) {
				next = &h.of[uid][i+1]
			}
			return &known, next
		}
	}
	return nil, nil
}

// in returns what was in a namespace at a revision.
func (h *history) in(namespace string, revision int64) []version {
	var found []version
	for _, versions := range h.of {
		var last *version
		for i := range versions {
			if versions[i].revision <= revision {
				last = &versions[i]
			}
		}
		if last != nil && !last.gone && last.meta.Namespace == namespace {
			found = append(found, *last)
		}
	}
	return found
}
