package golang

import (
	"context"
	"fmt"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
)

// export writes the pruned tree into the private folder: it is all that the
// build can read of the repository.
func (b *build) export(ctx context.Context) error {
	err := source.Export(ctx, b.request.State.Inputs, b.folder.src())
	if err == nil || ctx.Err() != nil {
		return err
	}
	if isMachineError(err) {
		return b.broken(fmt.Errorf("write its inputs out: %w", err))
	}
	return &lifecycle.BuildError{
		Image: b.request.State.Image.Name, Reason: "its inputs cannot be written out: " + err.Error(), Err: err,
	}
}
