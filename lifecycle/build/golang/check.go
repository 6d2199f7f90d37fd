package golang

import (
	"context"
	"errors"

	"github.com/pharos-dev/pharos/lifecycle"
)

var _ lifecycle.Checker = (*Builder)(nil)

// Check implements [lifecycle.Checker]: it refuses a recipe, a module and inputs
// that no program can come of, as far as the files show it, a toolchain that is
// not to be had, and a base that is not there or not for the image's platforms. It
// compiles nothing, and reads the inputs in a private folder that is gone when it
// returns; Go may download a toolchain. Errors are as of Build, joined if
// the inputs and the base are both wrong.
func (b *Builder) Check(ctx context.Context, r lifecycle.BuildRequest) error {
	return b.inFolder(ctx, r, true, func(run *build) error {
		return errors.Join(run.checkInputs(ctx), run.checkBase(ctx))
	})
}

// checkInputs looks at the module, and at the packages and embedded files that the
// program is made of.
func (b *build) checkInputs(ctx context.Context) error {
	if err := b.export(ctx); err != nil {
		return err
	}
	m, err := b.analyse(ctx)
	if err != nil {
		return err
	}
	tc, err := b.toolchain(ctx, m)
	if err != nil {
		return err
	}
	for _, p := range b.platforms {
		if err := b.explain(ctx, m, tc, p, "").Err(); err != nil {
			return err
		}
	}
	return nil
}

// checkBase asks the registry for the base's image for each platform.
func (b *build) checkBase(ctx context.Context) error {
	for _, p := range b.platforms {
		if _, err := b.baseImage(ctx, p); err != nil {
			return err
		}
	}
	return nil
}
