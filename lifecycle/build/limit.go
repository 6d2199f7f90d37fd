package build

import (
	"context"

	"github.com/pharos-dev/pharos/lifecycle"
)

// Limit returns a builder that runs no more than n builds of b at once; n below 1
// is 1. The others wait for their turn, in no particular order, or until their ctx
// ends: the error is its cause then.
func Limit(b lifecycle.Builder, n int) lifecycle.Builder {
	return &limiter{decorated{b}, make(chan struct{}, max(n, 1))}
}

type limiter struct {
	decorated
	turns chan struct{}
}

func (l *limiter) Build(ctx context.Context, r lifecycle.BuildRequest) (lifecycle.BuildResult, error) {
	if ctx.Err() != nil {
		return lifecycle.BuildResult{}, context.Cause(ctx)
	}
	select {
	case l.turns <- struct{}{}:
	case <-ctx.Done():
		return lifecycle.BuildResult{}, context.Cause(ctx)
	}
	defer func() { <-l.turns }()
	return l.builder.Build(ctx, r)
}
