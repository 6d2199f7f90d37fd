package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/reaper"
)

// pageSize is how many objects are asked for, and held, at once.
const pageSize = 500

// maxExpired is how often one list may expire while it is read.
const maxExpired = 100

// listing is a list of objects' metadata that is read page by page.
type listing struct {
	resource  Resource
	namespace string // all of them if empty
	selector  string // of labels
	name      string // only the object of this name if not empty
	limit     int64  // of a page; pageSize if it is 0
	// each is called for every object; its error ends the list.
	each func(reaper.Object) error
	// again is called when the list begins anew, because the server has forgotten the
	// state that it was of.
	again func()
	// resume has a list that has expired go on behind its last object in the newest
	// state, where the server can, in which earlier ones that are new are not seen.
	resume bool
}

// list reads all pages. Of the API server's answers only one is held at a time.
func (e *Ender) list(ctx context.Context, l listing) error {
	next, expired := "", 0
	for {
		page, err := e.page(ctx, l, next)
		switch {
		case next != "" && apierrors.IsResourceExpired(err):
			if expired++; expired == maxExpired {
				return fmt.Errorf("list %s: it expired %d times while it was read: %w", l.resource, expired, err)
			}
			if next = continueOf(err); next == "" || !l.resume {
				next = ""
				l.again()
			}
			continue
		case err != nil:
			return fmt.Errorf("list %s: %w", l.resource, err)
		}
		for i := range page.Items {
			if err := l.each(reaper.ObjectOf(l.resource.Group, l.resource.Kind, &page.Items[i])); err != nil {
				return err
			}
		}
		if page.Continue == "" {
			return nil
		}
		if page.Continue == next {
			return fmt.Errorf("list %s: the API server gives the same page over and over", l.resource)
		}
		next = page.Continue
	}
}

func (e *Ender) page(ctx context.Context, l listing, next string) (page *metav1.PartialObjectMetadataList, err error) {
	options := metav1.ListOptions{LabelSelector: l.selector, Limit: cmp.Or(l.limit, pageSize), Continue: next}
	if l.name != "" {
		options.FieldSelector = "metadata.name=" + l.name
	}
	err = kubeclient.Retry(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, e.config.RequestTimeout)
		defer cancel()
		page, err = e.in(l.resource, l.namespace).List(ctx, options)
		return err
	})
	if err == nil && !e.clock.Heard() {
		err = errNoDate
	}
	return page, err
}

// continueOf is where the server says that an expired list can go on.
func continueOf(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return ""
	}
	return status.Status().Continue
}
