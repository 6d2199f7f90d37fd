package sweep

import (
	"context"
	"errors"
)

// guard looks at everything in a namespace that could outlive it.
func (e *Ender) guard(_ context.Context, _ *Result) error {
	return errors.New("namespaces are not ended yet")
}
