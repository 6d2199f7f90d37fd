package standard

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/golang"
	"github.com/pharos-dev/pharos/lifecycle/registry"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/image"
	"github.com/pharos-dev/pharos/lifecycle/takeover/restore"
)

// TakeoverRequest says what is taken over from where.
type TakeoverRequest struct {
	// Repository has the commits of the target's receipts. Required.
	Repository lifecycle.Repository
	// Snapshot returns the working tree as it is now. Required.
	Snapshot func(context.Context) (source.Tree, error)
	// Folder is private to the checkout: the session's journal is in it. Required.
	Folder string
	// AutoHandBack hands back by itself once the images of the working tree are the
	// receipt's again.
	AutoHandBack bool
	// Output receives what building the agent prints. The default discards it.
	Output io.Writer
}

// NewTakeover returns the configuration of a takeover of the target, without what
// runs the workloads here (takeover.Config.Workstation) and who is told what happens.
// It makes no call.
func NewTakeover(t Target, o Options, r TakeoverRequest) (takeover.Config, error) {
	if r.Repository == nil || r.Snapshot == nil || r.Folder == "" {
		return takeover.Config{}, errors.New("standard: TakeoverRequest.Repository, Snapshot and Folder are required")
	}
	l, err := New(t, o)
	if err != nil {
		return takeover.Config{}, err
	}
	agents, err := newAgents(t, o, r.Output)
	if err != nil {
		return takeover.Config{}, fmt.Errorf("set up the agents of target %q: %w", t.Name, err)
	}
	src := func(ctx context.Context) (takeover.Source, error) {
		tree, err := r.Snapshot(ctx)
		return takeover.Source{Lifecycle: l, REST: o.REST, Repository: r.Repository, Tree: tree, Controller: func(ctx context.Context) (takeover.Healer, error) {
			return healer(ctx, t, o)
		}}, err
	}
	c := takeover.Config{Lifecycle: l, REST: o.REST, Namespace: t.Namespace, Folder: r.Folder, Agents: agents, Log: o.Log}
	c.Facts = func(ctx context.Context) (takeover.Facts, error) {
		s, err := src(ctx)
		if err != nil {
			return takeover.Facts{}, err
		}
		return takeover.Read(ctx, s)
	}
	if r.AutoHandBack {
		c.Same = func(ctx context.Context) (bool, error) {
			s, err := src(ctx)
			if err != nil {
				return false, err
			}
			return takeover.Unchanged(ctx, s)
		}
	}
	return c, nil
}

// NewRestorer returns what ends a takeover of the target in its holder's stead; by is
// who does so. It makes no call.
func NewRestorer(t Target, o Options) (*restore.Restorer, error) {
	leases, err := NewLease(t, o)
	if err != nil {
		return nil, err
	}
	return restore.New(restore.Config{REST: o.REST, Namespace: t.Namespace, Target: t.Name, Lease: leases, By: o.Actor, Others: t.Deliver.ArgoCD != nil, Log: o.Log})
}

// healer says whether a controller of the target leads now: it puts workloads
// back that were taken over by who is gone.
func healer(ctx context.Context, t Target, o Options) (takeover.Healer, error) {
	h := takeover.Healer{Name: fmt.Sprintf("the controller of target %s", t.Name)}
	if t.Deliver.ArgoCD != nil {
		h.Why = "where Argo CD delivers, that puts workloads back"
		return h, nil
	}
	leases, err := lease.New(lease.Config{REST: o.REST, Namespace: t.Namespace, Name: LeaderLease(t.Name), Target: t.Name})
	if err != nil {
		return h, err
	}
	st, err := leases.Inspect(ctx)
	switch {
	case err != nil:
		return h, lifecycle.TargetError(err)
	case !st.Held:
		h.Why = "none runs: kubectl pharos deploy --controller-image installs it"
	}
	return h, nil
}

// agents publishes the images of agents, each for the user of the image that it takes
// the place of.
type agents struct {
	target    Target
	images    *registry.Registry
	publisher *image.Publisher
}

func newAgents(t Target, o Options, out io.Writer) (*agents, error) {
	images, err := NewRegistry(t, o)
	if err != nil {
		return nil, err
	}
	builder, err := golang.New(golang.Config{Registry: images, Env: o.Env, Log: o.Log})
	if err != nil {
		return nil, err
	}
	p, err := image.New(image.Config{Builder: builder, Registry: images, Push: t.Registry.Push, Pull: t.Registry.Pull, Output: out})
	return &agents{target: t, images: images, publisher: p}, err
}

// Publish implements takeover.Agents.
func (a *agents) Publish(ctx context.Context, r takeover.AgentRequest) (string, error) {
	if len(r.Image.Platforms) == 0 {
		return "", fmt.Errorf("the receipt does not say which platforms image %s is for", r.Image.Name)
	}
	from := a.target.Registry.Push + "/" + r.Image.Name + "@" + string(r.Image.Digest)
	original, err := a.images.Image(ctx, from, r.Image.Platforms[0])
	if err != nil {
		return "", err
	}
	config, err := original.ConfigFile()
	if err != nil {
		return "", fmt.Errorf("read the configuration of %s: %w", from, err)
	}
	ref, _, err := a.publisher.Publish(ctx, r.Session, r.Image.Platforms, config.Config.User)
	return ref, err
}
