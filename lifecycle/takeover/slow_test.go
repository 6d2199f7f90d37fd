package takeover_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/takeovertest"
)

// unconnected is a workstation that reaches no agent.
type unconnected struct{ takeover.Workstation }

func (w unconnected) Start(ctx context.Context, r takeover.StartRequest) (takeover.Process, error) {
	p, err := w.Workstation.Start(ctx, r)
	return unreached{p}, err
}

type unreached struct{ takeover.Process }

func (unreached) Connected(types.UID) bool { return false }

// A takeover whose agents cannot be served is undone, and says what is missing and what
// to do.
func TestNeverServed(t *testing.T) {
	t.Parallel()
	s := takeovertest.NewShop(t, devtest.Cluster(t))
	before := s.Specs()
	s.Write(editAPI)
	c := s.Config()
	c.Workstation, c.Timeout = unconnected{&takeovertest.Workstation{}}, 5*time.Second
	err := <-begin(t, c).ended
	if !errors.Is(err, lifecycle.ErrUnhealthy) {
		t.Errorf("%v is no ErrUnhealthy", err)
	}
	for _, want := range []string{"its pods were replaced, and not all of them were served from here within 5s", "of which 0 were served from here", "\nWhat keeps them: kubectl describe pods --namespace " + s.Namespace, "--timeout"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
	if got := s.Spec("api"); got != before["api"] {
		t.Errorf("api is not as it was: %s", got)
	}
}
