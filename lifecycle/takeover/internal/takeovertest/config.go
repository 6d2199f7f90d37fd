package takeovertest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/catalogue/source/worktree"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
)

// Lifecycle is the target's.
func (s *Shop) Lifecycle() *lifecycle.Lifecycle {
	s.t.Helper()
	l, err := lifecycleOf(s.t.Context(), s.Dir, s.REST, lease.Timing{})
	if err != nil {
		s.t.Fatal(err)
	}
	return l
}

// Short is of a lease that ends soon after its holder is gone, and lasts long enough for
// a machine that does much else.
var Short = lease.Timing{Duration: 20 * time.Second, RenewEvery: 3 * time.Second}

// lifecycleOf is the target's in a repository.
func lifecycleOf(ctx context.Context, dir string, config *rest.Config, borrow lease.Timing) (*lifecycle.Lifecycle, error) {
	repo, err := source.Open(dir)
	if err != nil {
		return nil, err
	}
	head, err := repo.Commit(ctx, "")
	if err != nil {
		return nil, err
	}
	targets, err := standard.ReadTargets(ctx, head.Tree)
	if err != nil {
		return nil, err
	}
	return standard.New(targets[0], standard.Options{REST: config, Actor: "ann@laptop", Env: os.Environ(), Checkout: dir,
		Lease: lease.Config{Borrow: borrow, Margin: 2 * time.Second, Grace: time.Second, RetryPeriod: 200 * time.Millisecond}})
}

// Agents publishes nothing: no container runs on a hollow node.
type Agents struct{}

// Publish implements takeover.Agents.
func (Agents) Publish(_ context.Context, r takeover.AgentRequest) (string, error) {
	return "registry.example/shop/pharos-agent@" + Digest(r.Session.ID+r.Session.Workload), nil
}

// Remove implements takeover.Agents.
func (Agents) Remove(context.Context, string) error { return nil }

// Config is a session's in a checkout. Its lease is as borrow says; the default is
// that of package lease.
func Config(ctx context.Context, dir, namespace string, config *rest.Config, borrow lease.Timing) (takeover.Config, error) {
	l, err := lifecycleOf(ctx, dir, config, borrow)
	if err != nil {
		return takeover.Config{}, err
	}
	repo, err := source.Open(dir)
	if err != nil {
		return takeover.Config{}, err
	}
	return takeover.Config{
		Lifecycle: l, REST: config, Namespace: namespace, Folder: filepath.Join(repo.GitDir(), "pharos", "takeover"),
		Agents: Agents{}, Workstation: &Workstation{}, Timeout: 2 * time.Minute,
		Facts: func(ctx context.Context) (takeover.Facts, error) {
			tree, err := worktree.Snapshot(ctx, worktree.Config{Repository: repo})
			if err != nil {
				return takeover.Facts{}, err
			}
			return takeover.Read(ctx, takeover.Source{Lifecycle: l, REST: config, Repository: repo, Tree: tree,
				Controller: controllerOf(l)})
		},
	}, nil
}

// Config is that of a session in the checkout.
func (s *Shop) Config() takeover.Config {
	s.t.Helper()
	c, err := Config(s.t.Context(), s.Dir, s.Namespace, s.REST, lease.Timing{})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// Digest is one for a name.
func Digest(name string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(name))) }

// controllerOf is a controller that lives; where Argo CD delivers there is none.
func controllerOf(l *lifecycle.Lifecycle) func(context.Context) (takeover.Healer, error) {
	if l.Transport != nil {
		return nil
	}
	return func(context.Context) (takeover.Healer, error) {
		return takeover.Healer{Name: "the controller", Namespaces: []string{l.Target}}, nil
	}
}
