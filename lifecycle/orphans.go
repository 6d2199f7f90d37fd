package lifecycle

import (
	"context"
	"fmt"

	"github.com/pharos-dev/pharos/receipt"
)

// orphanDepth is how many receipts back orphans are searched for by the kinds
// that those receipts had.
const orphanDepth = 10

// earlierObjects returns what a receipt and those before it delivered, so that
// what a later one no longer names can be found.
func (l *Lifecycle) earlierObjects(ctx context.Context, id receipt.ID) ([]receipt.Object, error) {
	var objects []receipt.Object
	for depth := 0; id != "" && depth < orphanDepth; depth++ {
		rec, err := l.Receipts.Get(ctx, id)
		if unusable(err) {
			l.Log.Warn("an earlier receipt cannot be read: what it delivered may not be found among the orphans", "receipt", id.Short(), "err", err)
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read receipt %s: %w", id.Short(), err)
		}
		objects = append(objects, rec.Objects...)
		id = rec.Parent
	}
	return objects, nil
}
