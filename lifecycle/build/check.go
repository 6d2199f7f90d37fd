package build

import (
	"context"

	"github.com/pharos-dev/pharos/lifecycle"
)

// decorated is the builder below a decorator. What it can tell before anything is
// built, it is asked past the decorator.
type decorated struct{ builder lifecycle.Builder }

// Check implements [lifecycle.Checker]. Of a builder that is none it is nil.
func (d decorated) Check(ctx context.Context, r lifecycle.BuildRequest) error {
	if c, ok := d.builder.(lifecycle.Checker); ok {
		return c.Check(ctx, r)
	}
	return nil
}
