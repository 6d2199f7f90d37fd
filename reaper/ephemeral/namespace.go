package ephemeral

import (
	"context"
	"time"

	"k8s.io/client-go/rest"
)

// cleanupTimeout bounds what is to be done after a test, without the Wait.
const cleanupTimeout = 60 * time.Second

// Namespace creates a namespace for the test and returns its name. It is deleted at the
// test's end, after everything for which Cleanup was called later; until then heartbeats
// keep it. The test fails if the namespace cannot be created or deleted, or is not gone
// when it was asked to wait for that. Tests may call it in parallel, and more than once.
// The configuration is copied.
func Namespace(t TB, config *rest.Config, o Options) string {
	t.Helper()
	if o.For == "" {
		o.For = t.Name()
	}
	if o.Log == nil {
		o.Log = logger(t)
	}
	ctx := t.Context()
	s, err := Open(ctx, config, o)
	if err != nil {
		t.Fatalf("ephemeral: %v", err)
	}
	t.Cleanup(func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout+o.Wait)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("ephemeral: %v", err)
		}
	})
	return s.Name
}
