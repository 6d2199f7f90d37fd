package main

import (
	"context"
	"os"

	"github.com/google/go-containerregistry/pkg/authn"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// delivery is all that it takes to deliver a repository.
type delivery struct {
	target  standard.Target
	options standard.Options
	commit  source.Commit
}

// openDelivery reads the last commit of a repository, and from it where it goes.
func openDelivery(ctx context.Context, dir, target, actor string, cluster *rest.Config, keychain authn.Keychain) (*delivery, error) {
	repo, err := source.Open(dir)
	if err != nil {
		return nil, err
	}
	commit, err := repo.Commit(ctx, "HEAD")
	if err != nil {
		return nil, err
	}
	targets, err := standard.ReadTargets(ctx, commit.Tree)
	if err != nil {
		return nil, err
	}
	t, err := standard.SelectTarget(targets, target)
	if err != nil {
		return nil, err
	}
	return &delivery{target: t, commit: commit, options: standard.Options{
		REST: cluster, Actor: actor, Keychain: keychain, Env: os.Environ(), Checkout: dir,
	}}, nil
}

// reconcile brings the target to the commit.
func (d *delivery) reconcile(ctx context.Context, r lifecycle.ReconcileRequest) (lifecycle.ReconcileResult, error) {
	l, err := standard.New(d.target, d.options)
	if err != nil {
		return lifecycle.ReconcileResult{}, err
	}
	r.Commit = d.commit
	return l.Reconcile(ctx, r)
}

// deploy prepares the target, and brings it to the commit.
func (d *delivery) deploy(ctx context.Context, r lifecycle.ReconcileRequest) (lifecycle.ReconcileResult, error) {
	l, err := standard.New(d.target, d.options)
	if err != nil {
		return lifecycle.ReconcileResult{}, err
	}
	r.Commit = d.commit
	res, err := l.Deploy(ctx, r)
	return res.ReconcileResult, err
}

// status looks at the target.
func (d *delivery) status(ctx context.Context) (lifecycle.Status, error) {
	l, err := standard.New(d.target, d.options)
	if err != nil {
		return lifecycle.Status{}, err
	}
	return l.Status(ctx)
}
