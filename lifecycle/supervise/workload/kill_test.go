package workload_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/killtest"
	"github.com/pharos-dev/pharos/lifecycle/supervise"
	"github.com/pharos-dev/pharos/lifecycle/supervise/workload"
)

// life is what such a process does.
type life struct {
	Kubeconfig, Namespace string
	// Save and Restart are the write and the restart at which it dies, counted from
	// 1: before it has any effect, or right after if Late is set.
	Save, Restart int
	Late          bool
}

func TestMain(m *testing.M) {
	killtest.Main(m, func(ctx context.Context, l life) error { return l.live(ctx) })
}

// live supervises the Deployment api, which is never well, until it is parked.
func (l life) live(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", l.Kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	w, err := workload.New(workload.Config{Client: client, Kind: workload.Deployment, Namespace: l.Namespace, Name: "api", Now: later})
	if err != nil {
		return err
	}
	m := &mortal{Workload: w, life: l}
	s, err := supervise.New(supervise.Config{Thing: m, Store: m, Policy: hasty})
	if err != nil {
		return err
	}
	for {
		r, err := s.Step(ctx)
		if err != nil && !errors.Is(err, supervise.ErrConflict) || r.State.IsParked() {
			return err
		}
	}
}

// mortal is a workload whose supervisor dies.
type mortal struct {
	*workload.Workload
	life
	saves, restarts int
}

func (m *mortal) Save(ctx context.Context, s supervise.State, version string) error {
	if s.Restarts == 0 && s.Failures == 0 {
		return m.Workload.Save(ctx, s, version) // the new pod is not there yet
	}
	return m.at(&m.saves, m.life.Save, func() error { return m.Workload.Save(ctx, s, version) })
}

func (m *mortal) Restart(ctx context.Context) error {
	return m.at(&m.restarts, m.life.Restart, func() error { return m.Workload.Restart(ctx) })
}

// at dies if this is the time. What had no effect is not counted.
func (m *mortal) at(n *int, when int, effect func() error) error {
	if *n+1 == when && !m.Late {
		killtest.Die()
	}
	err := effect()
	if err != nil {
		return err
	}
	if *n++; *n == when {
		killtest.Die()
	}
	return nil
}

// A supervisor that is killed at a write or a restart, before or after it, and
// another one that goes on: one restart is lost at the most, none is made too often.
func TestKilledSupervisor(t *testing.T) {
	t.Parallel()
	// Each of them is a first or last one of its kind, or one in the middle.
	for _, l := range []life{{Save: 1}, {Save: 2}, {Save: 5}, {Save: 12}, {Restart: 1}, {Restart: 5}} {
		for _, l.Late = range []bool{false, true} {
			t.Run(fmt.Sprintf("write %d, restart %d, late: %t", l.Save, l.Restart, l.Late), func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				b.deployment("api", 1, crash)
				config, user := devtest.User(t, b.cluster, b.namespace, devtest.Rights{Namespaced: documented})
				audit := devtest.RecordAudit(t, b.cluster)
				l := l
				l.Kubeconfig, l.Namespace = devtest.Kubeconfig(t, config), b.namespace
				if !killtest.Run(t, l) {
					t.Error("it was not killed")
				}
				l.Save, l.Restart = 0, 0
				if err := l.live(t.Context()); err != nil {
					t.Error(err)
				}
				s, _, err := b.workload(config, "api", nil).Load(t.Context())
				if err != nil || s.Restarts != 5 || !s.IsParked() {
					t.Errorf("got %+v, %v", s, err)
				}
				if pods := b.deleted(audit, user); len(pods) < 4 || len(pods) > 5 {
					t.Errorf("deleted %q", pods)
				}
			})
		}
	}
}
