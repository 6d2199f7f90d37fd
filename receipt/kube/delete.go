package kube

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/receipt"
)

// Delete implements receipt.Store. It deletes what it looked at and nothing that
// came in its place. Outcomes that it does not come to, when it is killed, are
// deleted by the server's garbage collector, since their record owns them.
func (s *Store) Delete(ctx context.Context, id receipt.ID) error {
	const op = "delete receipt"
	if _, err := receipt.ParseID(string(id)); err != nil {
		return nil // no receipt can have it
	}
	p, err := s.Pointers(ctx)
	switch {
	case errors.Is(err, receipt.ErrCorrupt):
		return s.fail(op, s.recordName(id), fmt.Errorf("%w: %w", receipt.ErrInUse, err))
	case err != nil:
		return err
	case id == p.Applied || id == p.Live:
		return s.fail(op, s.recordName(id), fmt.Errorf("%w: the pointers name it", receipt.ErrInUse))
	}
	// One request finds the record and its outcomes.
	selector := s.selector(partRecord, partOutcome) + "," + keys.Receipt + "=" + label(id)
	var page metav1.PartialObjectMetadataList
	err = kubeclient.Retry(ctx, func() error {
		return s.request(s.client.Get()).Param("labelSelector", selector).
			SetHeader("Accept", kubeclient.MetadataOnlyList).Do(ctx).Into(&page)
	})
	if err != nil {
		return s.fail(op, s.recordName(id), err)
	}
	for _, part := range []string{partRecord, partOutcome} {
		for _, m := range page.Items {
			if m.Labels[keys.ReceiptPart] != part || part == partRecord && m.Name != s.recordName(id) {
				continue
			}
			if err := s.remove(ctx, m.ObjectMeta); err != nil {
				return s.fail(op, m.Name, err)
			}
		}
	}
	return nil
}

// remove deletes an object, if it still is that one.
func (s *Store) remove(ctx context.Context, m metav1.ObjectMeta) error {
	only := &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &m.UID, ResourceVersion: &m.ResourceVersion}}
	err := kubeclient.Retry(ctx, func() error {
		return s.request(s.client.Delete()).Name(m.Name).Body(only).Do(ctx).Error()
	})
	if apierrors.IsNotFound(err) {
		return nil // an attempt of ours whose answer was lost, or somebody else
	}
	return err
}
