package ephemeral

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/reaper"
)

// client reads and writes namespaces, each call with one request.
type client struct {
	rest  *rest.RESTClient
	clock kubeclient.ServerClock
	reap  *reaper.Client
}

func newClient(config *rest.Config) (*client, error) {
	reap, err := reaper.NewClient(config)
	if err != nil {
		return nil, err
	}
	c := &client{reap: reap}
	c.rest, err = kubeclient.New(c.clock.Listen(config), corev1.SchemeGroupVersion, corev1.AddToScheme)
	return c, err
}

// to addresses a namespace, or all of them.
func to(r *rest.Request, name string) *rest.Request {
	r = r.MaxRetries(0).Resource("namespaces")
	if name != "" {
		r = r.Name(name)
	}
	return r
}

func (c *client) create(ctx context.Context, ns *corev1.Namespace) (*corev1.Namespace, error) {
	made := &corev1.Namespace{}
	return made, to(c.rest.Post(), "").Param("fieldManager", keys.Manager).Body(ns).Do(ctx).Into(made)
}

func (c *client) get(ctx context.Context, name string) (*corev1.Namespace, error) {
	ns := &corev1.Namespace{}
	return ns, to(c.rest.Get(), name).Do(ctx).Into(ns)
}

// list returns the namespaces that this package made, as the server remembers them.
func (c *client) list(ctx context.Context) ([]metav1.PartialObjectMetadata, error) {
	var l metav1.PartialObjectMetadataList
	err := to(c.rest.Get(), "").
		Param("labelSelector", keys.Intent+"="+string(reaper.Transient)+","+keys.Ephemeral).
		Param("resourceVersion", "0").
		SetHeader("Accept", kubeclient.MetadataOnlyList).Do(ctx).Into(&l)
	return l.Items, err
}

// delete deletes the namespace with this UID.
func (c *client) delete(ctx context.Context, name string, uid types.UID) error {
	background := metav1.DeletePropagationBackground
	return to(c.rest.Delete(), name).
		Body(&metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &background}).
		Do(ctx).Error()
}

// pause waits, and returns false if ctx ends before.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
