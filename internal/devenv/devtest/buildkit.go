package devtest

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/pharos-dev/pharos/internal/devenv"
)

// sharedBuildKit starts the BuildKit of this process, which ends with it.
var sharedBuildKit = sync.OnceValues(func() (*devenv.BuildKit, error) {
	return devenv.StartBuildKit(context.Background(), devenv.BuildKitOptions{Output: os.Stderr})
})

// BuildKit returns the BuildKit that the tests of this process share. A test must neither stop nor kill it: see
// [OwnBuildKit]. Where BuildKit cannot run, the test is skipped, or fails if CI is set.
func BuildKit(t testing.TB) *devenv.BuildKit {
	t.Helper()
	needBuildKit(t)
	b, err := sharedBuildKit()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// OwnBuildKit starts a BuildKit for this test alone, and stops it at the test's end.
func OwnBuildKit(t testing.TB, o devenv.BuildKitOptions) *devenv.BuildKit {
	t.Helper()
	needBuildKit(t)
	b, err := devenv.StartBuildKit(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func needBuildKit(t testing.TB) {
	t.Helper()
	if err := devenv.BuildKitAvailable(); err != nil {
		Unavailable(t, err.Error())
	}
}
