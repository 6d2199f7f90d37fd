package workstation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/catalogue/source/worktree"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/registry"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/image"
)

// TakeoverConfig is a target, and the checkout that it is taken over from.
type TakeoverConfig struct {
	Target  standard.Target
	Options standard.Options
	// Repository is the checkout's. Required.
	Repository *source.Repository
	// Tree returns a tree with what is known of others: see catalogue.Cached. The
	// default computes everything anew.
	Tree func(source.Tree) source.Tree
	// AutoHandBack hands back when the working tree's images are the receipt's again.
	AutoHandBack bool
	// Memory and Output are as of Config.
	Memory []string
	Output func(image string) io.Writer
}

// Folder is the folder of takeovers of a checkout: takeover.Config.Folder.
func Folder(r *source.Repository) string {
	return filepath.Join(r.GitDir(), "pharos", "takeover")
}

// Takeover puts together what a takeover of a target needs: takeover.New takes it with
// its Events.
func Takeover(c TakeoverConfig) (takeover.Config, error) {
	fail := func(err error) (takeover.Config, error) {
		return takeover.Config{}, fmt.Errorf("set up the takeover of target %q: %w", c.Target.Name, err)
	}
	if c.Repository == nil {
		return fail(errors.New("TakeoverConfig.Repository is required"))
	}
	l, err := standard.New(c.Target, c.Options)
	if err != nil {
		return takeover.Config{}, err
	}
	images, err := standard.NewRegistry(c.Target, c.Options)
	if err != nil {
		return fail(err)
	}
	publisher, err := image.New(image.Config{Builder: l.Builders[catalogue.BuildGo], Registry: images, Push: c.Target.Registry.Push, Pull: c.Target.Registry.Pull})
	if err != nil {
		return fail(err)
	}
	controller, err := controllerOf(c)
	if err != nil {
		return fail(err)
	}
	folder := Folder(c.Repository)
	local, err := New(Config{REST: c.Options.REST, Root: c.Repository.Root(), Folder: filepath.Join(folder, "processes"), Environ: c.Options.Env,
		Memory: c.Memory, Output: c.Output, Log: c.Options.Log})
	if err != nil {
		return fail(err)
	}
	facts := func(ctx context.Context) (takeover.Source, error) {
		tree, err := worktree.Snapshot(ctx, worktree.Config{Repository: c.Repository, Env: c.Options.Env})
		if err != nil {
			return takeover.Source{}, &lifecycle.Error{Op: "read", On: "the working tree", Class: lifecycle.ErrSource, Err: err}
		}
		if c.Tree != nil {
			tree = c.Tree(tree)
		}
		return takeover.Source{Lifecycle: l, REST: c.Options.REST, Repository: c.Repository, Tree: tree, Controller: controller}, nil
	}
	config := takeover.Config{
		Lifecycle: l, REST: c.Options.REST, Namespace: c.Target.Namespace, Folder: folder, Root: c.Repository.Root(),
		Facts: func(ctx context.Context) (takeover.Facts, error) {
			src, err := facts(ctx)
			if err != nil {
				return takeover.Facts{}, err
			}
			return takeover.Read(ctx, src)
		},
		Agents:      &agents{publisher, images, c.Target.Registry.Push},
		Workstation: local,
		Log:         c.Options.Log,
	}
	if c.AutoHandBack {
		config.Same = func(ctx context.Context) (bool, error) {
			src, err := facts(ctx)
			if err != nil {
				return false, err
			}
			return takeover.Unchanged(ctx, src)
		}
	}
	return config, nil
}

// controllerOf says whether the target's controller puts back what is left alone. Where
// Argo CD delivers, that does, and the controller only looks.
func controllerOf(c TakeoverConfig) (func(context.Context) (takeover.Healer, error), error) {
	if c.Target.Deliver.ArgoCD != nil {
		return nil, nil
	}
	name := standard.LeaderLease(c.Target.Name)
	leader, err := lease.New(lease.Config{REST: c.Options.REST, Namespace: c.Target.Namespace, Target: c.Target.Name, Name: name})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (takeover.Healer, error) {
		h := takeover.Healer{Name: fmt.Sprintf("the controller of target %s", c.Target.Name)}
		now, err := leader.Inspect(ctx)
		if err != nil {
			return h, err
		}
		if h.Namespaces = now.Covers; !now.Held {
			h.Why = fmt.Sprintf("it does not run: nobody holds Lease %s/%s", c.Target.Namespace, name)
		}
		return h, nil
	}, nil
}

// agents publishes agents that run as the user of the image that they stand for.
type agents struct {
	publisher *image.Publisher
	registry  *registry.Registry
	push      string
}

var _ takeover.Agents = (*agents)(nil)

// Publish implements takeover.Agents.
func (a *agents) Publish(ctx context.Context, r takeover.AgentRequest) (string, error) {
	if len(r.Image.Platforms) == 0 {
		return "", fmt.Errorf("the receipt names no platform of image %s", r.Image.Name)
	}
	original, err := a.registry.Image(ctx, a.push+"/"+r.Image.Name+"@"+string(r.Image.Digest), r.Image.Platforms[0])
	if err != nil {
		return "", err
	}
	config, err := original.ConfigFile()
	if err != nil {
		return "", fmt.Errorf("read the configuration of image %s: %w", r.Image.Name, err)
	}
	ref, _, err := a.publisher.Publish(ctx, r.Session, r.Image.Platforms, config.Config.User)
	return ref, err
}

// Remove implements takeover.Agents.
func (a *agents) Remove(ctx context.Context, image string) error {
	_, digest, _ := strings.Cut(image, "@")
	return a.publisher.Remove(ctx, lifecycle.Digest(digest))
}
