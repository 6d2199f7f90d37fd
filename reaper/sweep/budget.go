package sweep

import (
	"context"

	"golang.org/x/time/rate"
)

// budget limits the ends: how many a second, and how many at once.
type budget struct {
	limiter *rate.Limiter
	slots   chan struct{}
}

func newBudget(perSecond float64, concurrent int) *budget {
	limit := rate.Limit(perSecond)
	if perSecond < 0 {
		limit = rate.Inf
	}
	return &budget{rate.NewLimiter(limit, concurrent), make(chan struct{}, concurrent)}
}

// take waits for a slot, which the returned function gives back.
func (b *budget) take(ctx context.Context) (give func(), err error) {
	select {
	case b.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	give = func() { <-b.slots }
	if err := b.limiter.Wait(ctx); err != nil {
		give()
		return nil, err
	}
	return give, nil
}
