package lease_test

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
)

// Who takes a lease up again is the only one that writes under it.
func TestRetake(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := manager(t, w.config(w.server))
	holder := lease.NewHolder()
	first := acquire(t, m, lease.Request{Mode: lease.ModeMaintain, Holder: holder, Purpose: "works"})
	if first.Holder() != holder {
		t.Errorf("the holder is %s, want %s", first.Holder(), holder)
	}
	second, err := m.Retake(t.Context(), holder)
	if err != nil {
		t.Fatal(err)
	}
	if second.Token() <= first.Token() || second.Holder() != holder || second.State().Purpose != "works" {
		t.Errorf("taken up again: %+v, token %d after %d", second.State(), second.Token(), first.Token())
	}
	if err := first.Check(t.Context()); !errors.Is(err, lease.ErrLost) || !strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("the first one: %v", err)
	}
	if err := first.Release(t.Context()); err != nil || !inspect(t, m).Held {
		t.Errorf("the first one gave back what is the second one's: %v", err)
	}
	if err := second.Check(t.Context()); err != nil {
		t.Errorf("the second one: %v", err)
	}
	if err := second.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Retake(t.Context(), holder); !errors.Is(err, lease.ErrLost) {
		t.Errorf("when it is over: %v", err)
	}
}

// A lease can have another name than a target's, and then is another one.
func TestName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config := w.config(w.server)
	acquire(t, manager(t, config), lease.Request{Mode: lease.ModeDeliver})
	config.Name = "pharos-devbox.controller"
	acquire(t, manager(t, config), lease.Request{Mode: lease.ModeDeliver})
	leases := devtest.Client(t, w.cluster.Config()).CoordinationV1().Leases(w.namespace)
	if _, err := leases.Get(t.Context(), config.Name, metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	config.Name = "Not a name"
	if _, err := lease.New(config); !errors.Is(err, lease.ErrInvalid) {
		t.Errorf("%q: %v", config.Name, err)
	}
}
