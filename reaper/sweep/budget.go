package sweep

import (
	"context"

	"golang.org/x/time/rate"
)

// budget limits the ends: how many a second, and how many at once.
type budget struct {
	limiter *rate.Limiter
	slots   slots
}

func newBudget(perSecond float64, concurrent int) *budget {
	limit := rate.Limit(perSecond)
	if perSecond < 0 {
		limit = rate.Inf
	}
	return &budget{rate.NewLimiter(limit, concurrent), make(slots, concurrent)}
}

// take waits for a slot, which the returned function gives back.
func (b *budget) take(ctx context.Context) (give func(), err error) {
	if give, err = b.slots.take(ctx); err != nil {
		return nil, err
	}
	if err := b.limiter.Wait(ctx); err != nil {
		give()
		return nil, err
	}
	return give, nil
}

// slots limit how many do something at once.
type slots chan struct{}

// take waits for a slot, which the returned function gives back.
func (s slots) take(ctx context.Context) (give func(), err error) {
	select {
	case s <- struct{}{}:
		return func() { <-s }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
