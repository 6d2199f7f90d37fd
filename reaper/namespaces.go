package reaper

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// namespaceRef is a namespace, or all of them without a name.
func namespaceRef(name string) Ref {
	return Ref{Version: "v1", Resource: "namespaces", Kind: "Namespace", Name: name}
}

// LookForNamespaces says which namespaces of these names do not exist, and of which that
// is not known, since they may not be read. Looking into a namespace that does not exist
// finds nothing and is no error to the API server: a misspelt one has to be asked for.
func (c *Client) LookForNamespaces(ctx context.Context, names ...string) (missing, unknown []string, err error) {
	for _, name := range names {
		r := namespaceRef(name)
		if err := r.checkNames(); err != nil {
			return nil, nil, fail("read", r, err)
		}
		switch _, err := c.get(ctx, r); {
		case err == nil:
		case kubeclient.NotFound(err):
			missing = append(missing, name)
		case apierrors.IsForbidden(err):
			unknown = append(unknown, name)
		default:
			return nil, nil, fail("read", r, err)
		}
	}
	return missing, unknown, nil
}

// Namespaces returns the names of all namespaces, sorted.
func (c *Client) Namespaces(ctx context.Context) ([]string, error) {
	r := namespaceRef("")
	var list metav1.PartialObjectMetadataList
	err := kubeclient.Retry(ctx, func() error {
		list = metav1.PartialObjectMetadataList{}
		return c.rest.Get().AbsPath(r.path()).MaxRetries(0).SetHeader("Accept", kubeclient.MetadataOnlyList).Do(ctx).Into(&list)
	})
	if err != nil {
		return nil, fail("list", r, err)
	}
	var names []string
	for _, m := range list.Items {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return names, nil
}
