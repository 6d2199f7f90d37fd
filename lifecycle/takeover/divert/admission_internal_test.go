package divert

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A webhook with side effects cannot be tried. The API server takes no new one, and
// calls those that it has from before, so that only its answer can be shown.
func TestWebhookWithSideEffects(t *testing.T) {
	t.Parallel()
	err := rejected("divert", Subject{Namespace: "shop", Name: "api"}, apierrors.NewBadRequest(`admission webhook "old.example.com" does not support dry run`))
	if !errors.Is(err, ErrRejected) || !strings.Contains(err.Error(), `"old.example.com"`) || !strings.Contains(err.Error(), "sideEffects: None, or NoneOnDryRun") {
		t.Errorf("got %v", err)
	}
}
