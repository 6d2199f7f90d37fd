package kubeclient

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"
)

// Ready asks the API server whether it is ready: GET /readyz, which Kubernetes allows
// everybody who is authenticated. One that is starting leaves out of its discovery what
// it has not registered yet, custom resources above all, and marks none of it as stale:
// nothing may be taken for absent by what Discover returns then. Of c only the address
// counts.
func Ready(ctx context.Context, c rest.Interface) error {
	if err := c.Get().AbsPath("/readyz").MaxRetries(0).Do(ctx).Error(); err != nil {
		return fmt.Errorf("the API server does not say that it is ready (GET /readyz), without which what it does not list may be there: %w", err)
	}
	return nil
}
