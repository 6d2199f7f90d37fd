package golang

import (
	"context"
	"fmt"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/machine"
)

// export writes the pruned tree into the private folder: it is all that the
// build can read of the repository.
func (b *build) export(ctx context.Context) error {
	err := source.Export(ctx, b.request.State.Inputs, b.folder.Path("src"))
	if err == nil || ctx.Err() != nil {
		return err
	}
	if machine.IsFault(err) {
		return b.broken(fmt.Errorf("write its inputs out: %w", err))
	}
	return &lifecycle.BuildError{
		Image: b.request.State.Image.Name, Reason: "its inputs cannot be written out: " + err.Error(), Err: err,
	}
}
