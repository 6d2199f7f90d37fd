package dockerfile

import (
	"context"
	"errors"

	"github.com/pharos-dev/pharos/lifecycle"
)

// Supplier is a Backend that can tell, without reaching BuildKit, whether it has
// the secrets and SSH agents of a recipe.
type Supplier interface {
	// Supplied returns a *NotSuppliedError if some of these ids are not there.
	Supplied(ctx context.Context, secrets, ssh []string) error
}

var (
	_ Supplier = (*Address)(nil)
	_ Supplier = (*Runner)(nil)
)

// Check implements [lifecycle.Checker]: it reads the Dockerfile and reports what
// is not declared, not supplied or not for the image's platforms. It asks
// registries for bases, and not BuildKit. Errors are as of Build, joined if the
// inputs and what is supplied are both wrong.
func (b *Builder) Check(ctx context.Context, r lifecycle.BuildRequest) error {
	run, err := b.start(r)
	if err != nil {
		return err
	}
	run.early = true
	_, err = run.plan(ctx)
	if s, ok := b.backend.(Supplier); ok {
		if lacking := s.Supplied(ctx, sorted(run.recipe.Secrets), sorted(run.recipe.SSH)); lacking != nil {
			err = errors.Join(err, run.explain(ctx, nil, lacking))
		}
	}
	if err != nil && ctx.Err() != nil {
		return run.stopped(ctx)
	}
	return err
}
