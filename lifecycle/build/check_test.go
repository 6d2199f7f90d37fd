package build_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build"
)

// refuser is a builder that can tell beforehand.
type refuser struct {
	lifecycle.Builder
	err error
}

func (r refuser) Check(context.Context, lifecycle.BuildRequest) error { return r.err }

func TestDecoratorsAskTheBuilderBeforehand(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	for name, decorate := range map[string]func(lifecycle.Builder) lifecycle.Builder{
		"limit":  func(b lifecycle.Builder) lifecycle.Builder { return build.Limit(b, 1) },
		"record": func(b lifecycle.Builder) lifecycle.Builder { return build.Record(b, time.Now, func(build.Event) {}) },
		"cache":  func(b lifecycle.Builder) lifecycle.Builder { return build.Cache(b, nil) },
	} {
		checker, ok := decorate(refuser{err: refused}).(lifecycle.Checker)
		if !ok {
			t.Errorf("%s hides that its builder can tell", name)
			continue
		}
		if err := checker.Check(t.Context(), lifecycle.BuildRequest{}); !errors.Is(err, refused) {
			t.Errorf("%s: %v", name, err)
		}
		// One that cannot tell refuses nothing.
		if err := decorate(struct{ lifecycle.Builder }{}).(lifecycle.Checker).Check(t.Context(), lifecycle.BuildRequest{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
