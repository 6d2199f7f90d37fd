package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

const (
	// patience is how long a delivery that should become healthy may take: on a
	// real cluster images are pulled first.
	patience = 5 * time.Minute
	// impatience is how long one may take that never will.
	impatience = 8 * time.Second
	// impatienceArgoCD is that through Argo CD, whose operation has to end before it says why.
	impatienceArgoCD = 30 * time.Second
)

func (s *story) firstCommit(ctx context.Context, c *chapter) error {
	if err := s.commit(ctx, "Open the shop"); err != nil {
		return err
	}
	if s.server != "" {
		// So that there is a repository. What is delivered is pushed by Pharos itself.
		if err := s.shop.Push(ctx, s.server); err != nil {
			return err
		}
	}
	if err := s.deliver(ctx, c, patience, "deploy", (*delivery).deploy); err != nil {
		return err
	}
	return c.delivered(s.built("orders", "stock", "storefront")...)
}

func (s *story) libraryChanges(ctx context.Context, c *chapter) error {
	if err := s.shop.Replace("libs/money/money.go", `"%d.%02d EUR"`, `"%d.%02d €"`); err != nil {
		return err
	}
	if err := s.commit(ctx, "Write amounts with a sign"); err != nil {
		return err
	}
	if err := s.reconcile(ctx, c, patience); err != nil {
		return err
	}
	return c.delivered(s.built("orders", "storefront")...)
}

func (s *story) onlyDocs(ctx context.Context, c *chapter) error {
	if err := s.shop.Replace("README.md", "Three services,", "Three small services,"); err != nil {
		return err
	}
	if err := s.commit(ctx, "Say how large the services are"); err != nil {
		return err
	}
	if err := s.reconcile(ctx, c, patience); err != nil {
		return err
	}
	if c.err != nil || c.result.Plan.Decision != lifecycle.DecideUnchanged {
		return notAsTold(c.err, "nothing was to be done, and the plan is %q", c.result.Plan.Decision)
	}
	s.say.line("took %.2f s; API server: %v", c.result.Took.Seconds(), c.api)
	if s.images != nil {
		s.say.line("registry: %v", c.images)
	}
	if c.api.writes+c.images.writes > 0 || c.api.reads == 0 {
		return notAsTold(nil, "nothing was to be written; API server: %v; registry: %v", c.api, c.images)
	}
	return nil
}

func (s *story) leaseRefuses(ctx context.Context, c *chapter) error {
	d, err := s.open(ctx)
	if err != nil {
		return err
	}
	leases, err := standard.NewLease(d.target, d.options)
	if err != nil {
		return err
	}
	held, err := leases.Acquire(ctx, lease.Request{Mode: lease.ModeBorrow, User: "dana@laptop", Purpose: "running orders in a debugger"})
	if err != nil {
		return err
	}
	s.say.line("%s holds the lease in mode %s: %s", held.State().User, held.State().Mode, held.State().Purpose)

	if err := s.shop.Replace("deploy/overlays/quickstart/kustomization.yaml", "count: 2", "count: 3"); err != nil {
		return err
	}
	if err := s.commit(ctx, "Open a third till"); err != nil {
		return err
	}
	if err := s.reconcile(ctx, c, patience); err != nil {
		return err
	}
	if !errors.As(c.err, &c.blocked) {
		return notAsTold(c.err, "the lease was to refuse the delivery")
	}
	s.say.line("refused: %v", c.blocked)
	if c.api.writes > 0 {
		return notAsTold(nil, "a refused delivery was to write nothing; API server: %v", c.api)
	}

	if err := held.Release(ctx); err != nil {
		return err
	}
	s.say.blank()
	s.say.line("%s released the lease", held.State().User)
	if err := s.reconcile(ctx, c, patience); err != nil {
		return err
	}
	return c.delivered()
}

func (s *story) cannotBecomeHealthy(ctx context.Context, c *chapter) error {
	if err := s.shop.Replace("deploy/base/stock.yaml", "cpu: 500m", `cpu: "500"`); err != nil {
		return err
	}
	if err := s.commit(ctx, "Give stock more room"); err != nil {
		return err
	}
	timeout := impatience
	if s.server != "" {
		timeout = impatienceArgoCD
	}
	if err := s.reconcile(ctx, c, timeout); err != nil {
		return err
	}
	var unhealthy *lifecycle.UnhealthyError
	if !errors.As(c.err, &unhealthy) {
		return notAsTold(c.err, "the delivery was to end as not healthy")
	}
	s.say.line("failed: %v", unhealthy)
	if !slices.ContainsFunc(unhealthy.Unready, func(u lifecycle.ObjectStatus) bool {
		return u.Object.Kind == "Deployment" && u.Object.Name == "stock" && strings.Contains(u.Reason, "cpu")
	}) {
		return notAsTold(nil, "the reason was to be stock's lack of CPUs")
	}
	s.say.blank()
	if err := s.look(ctx, c); err != nil {
		return err
	}
	if c.status.Applied == nil || c.status.Live == nil || c.status.Applied.ID == c.status.Live.ID || c.status.IsLive() {
		return notAsTold(nil, "applied and live were to differ")
	}
	return nil
}

func (s *story) fixDelivers(ctx context.Context, c *chapter) error {
	if err := s.shop.Replace("deploy/base/stock.yaml", `cpu: "500"`, "cpu: 500m"); err != nil {
		return err
	}
	if err := s.commit(ctx, "Put the m back"); err != nil {
		return err
	}
	if err := s.reconcile(ctx, c, patience); err != nil {
		return err
	}
	if err := c.delivered(); err != nil {
		return err
	}
	s.say.blank()
	if err := s.look(ctx, c); err != nil {
		return err
	}
	if !c.status.IsLive() || c.status.Applied.ID != c.result.Receipt {
		return notAsTold(nil, "the target was to be live at receipt %s", c.result.Receipt.Short())
	}
	return nil
}

// delivered checks that the commit went live, and that just these images were
// built for it.
func (c *chapter) delivered(built ...string) error {
	if c.err != nil {
		return notAsTold(c.err, "the commit was to go live")
	}
	if !slices.Equal(c.built, built) {
		return notAsTold(nil, "the images to be built were %q, and these were built: %q", built, c.built)
	}
	if c.result.Receipt == "" || c.result.Plan.Decision == lifecycle.DecideUnchanged {
		return notAsTold(nil, "the commit was to be delivered, and the plan is %q", c.result.Plan.Decision)
	}
	return nil
}
