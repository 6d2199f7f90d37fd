package reaper

import (
	"context"
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// Client changes the intents of objects of one cluster, and creates objects that have
// one. It is safe for concurrent use.
type Client struct {
	rest  rest.Interface
	clock kubeclient.ServerClock
}

// NewClient returns a client of the cluster that config reaches. The configuration is
// not changed; where it sets no rate limit there is none.
func NewClient(config *rest.Config) (*Client, error) {
	c := &Client{}
	r, err := kubeclient.New(c.clock.Listen(config), schema.GroupVersion{Version: "v1"}, func(*runtime.Scheme) error { return nil })
	c.rest = r
	return c, err
}

// Now is the API server's time, to a second. It asks the server for nothing but that
// if it has not told the time yet.
func (c *Client) Now(ctx context.Context) (time.Time, error) {
	if !c.clock.Heard() {
		// Everybody may ask for it, and a refusal has the time as well.
		err := kubeclient.Retry(ctx, func() error {
			err := c.rest.Get().AbsPath("/version").MaxRetries(0).Do(ctx).Error()
			if c.clock.Heard() {
				return nil
			}
			return err
		})
		if err != nil {
			return time.Time{}, err
		}
	}
	return c.clock.Now(), nil
}

// Get returns the object as it is now, of which the UID need not be known; the error is
// ErrGone if there is none.
func (c *Client) Get(ctx context.Context, r Ref) (Object, error) {
	if err := r.checkNames(); err != nil {
		return Object{}, fail("read", r, err)
	}
	o, err := c.get(ctx, r)
	return o, fail("read", r, err)
}

// get reads an object's metadata.
func (c *Client) get(ctx context.Context, r Ref) (Object, error) {
	var m metav1.PartialObjectMetadata
	err := kubeclient.Retry(ctx, func() error {
		return c.rest.Get().AbsPath(r.path()).MaxRetries(0).SetHeader("Accept", kubeclient.MetadataOnly).Do(ctx).Into(&m)
	})
	if err != nil {
		return Object{}, err
	}
	return ObjectOf(r.Group, r.Kind, &m), nil
}

// always returns the same annotations for each try.
func always(annotations map[string]any) func() map[string]any {
	return func() map[string]any { return annotations }
}

// patch changes labels and annotations of the object with the UID, in which nil
// removes one, and only if it has this resourceVersion still, unless that is empty.
// The annotations are asked for at each try.
func (c *Client) patch(ctx context.Context, r Ref, resourceVersion string, labels map[string]any, annotations func() map[string]any, dryRun bool) (Object, error) {
	meta := map[string]any{"uid": r.UID}
	if len(labels) > 0 {
		meta["labels"] = labels
	}
	if resourceVersion != "" {
		meta["resourceVersion"] = resourceVersion
	}
	var m metav1.PartialObjectMetadata
	err := kubeclient.Retry(ctx, func() error { // it changes nothing a second time
		meta["annotations"] = annotations()
		body, err := json.Marshal(map[string]any{"metadata": meta})
		if err != nil {
			return err
		}
		req := c.rest.Patch(types.MergePatchType).AbsPath(r.path()).MaxRetries(0).
			Param("fieldManager", keys.Manager).SetHeader("Accept", kubeclient.MetadataOnly).Body(body)
		if dryRun {
			req = req.Param("dryRun", metav1.DryRunAll)
		}
		return req.Do(ctx).Into(&m)
	})
	if err != nil {
		return Object{}, err
	}
	o := ObjectOf(r.Group, r.Kind, &m)
	if !o.Deleted.IsZero() {
		return o, ErrEnding
	}
	return o, nil
}
