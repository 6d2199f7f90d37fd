package kube

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/receipt"
)

var _ receipt.WholeReader = (*Store)(nil)

// Whole implements receipt.WholeReader.
func (s *Store) Whole(ctx context.Context, id receipt.ID) (w receipt.Whole) {
	if _, err := receipt.ParseID(string(id)); err != nil {
		w.RecordErr = fmt.Errorf("%w: %w", receipt.ErrNotFound, err)
		return w
	}
	name := s.recordName(id)
	items, err := s.parts(ctx, id, partRecord, partOutcome)
	if err != nil {
		err = s.fail("read receipt", name, err)
		return receipt.Whole{RecordErr: err, OutcomesErr: err}
	}
	at := slices.IndexFunc(items, func(m corev1.ConfigMap) bool { return m.Name == name })
	if at < 0 {
		// Somebody may have taken its labels.
		w.Record, w.RecordErr = s.Get(ctx, id)
	} else {
		w.Record, w.RecordErr = s.record(id, &items[at])
	}
	items = slices.DeleteFunc(items, func(m corev1.ConfigMap) bool { return m.Labels[keys.ReceiptPart] == partRecord })
	w.Outcomes, w.OutcomesErr = s.outcomes(id, items)
	return w
}
