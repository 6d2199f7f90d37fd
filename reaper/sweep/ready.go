package sweep

import (
	"context"
	"fmt"
)

// ready asks the API server whether it is ready. One that is starting leaves out of its
// discovery what it has not registered yet, custom resources above all, and marks none
// of it as stale: nothing may be taken for absent by what it says then.
func (e *Ender) ready(ctx context.Context) error {
	if err := e.plain.Get().AbsPath("/readyz").MaxRetries(0).Do(ctx).Error(); err != nil {
		return fmt.Errorf("the API server does not say that it is ready (GET /readyz), without which what it does not list may be there: %w", err)
	}
	return nil
}
