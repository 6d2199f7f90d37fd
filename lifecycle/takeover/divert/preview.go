package divert

import (
	"context"
	"errors"
	"fmt"
)

// Preview says what Restore would do to a workload as it is now, and writes nothing: it
// asks no Guard. One API call.
func (w *Writer) Preview(ctx context.Context, d Diversion) (Restoration, error) {
	_, r, _, err := w.next(ctx, d)
	if errors.Is(err, ErrGone) {
		return gone(d), nil
	}
	return r, err
}

// gone is what becomes of a workload that is not there.
func gone(d Diversion) Restoration {
	return Restoration{Outcome: OutcomeGone, Reason: fmt.Sprintf("%s is not there any more", d.Subject)}
}
