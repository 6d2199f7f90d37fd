package standard

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/deliver/argocd"
	"github.com/pharos-dev/pharos/lifecycle/transport"
)

// delivery is how a target's objects reach it.
type delivery struct {
	deliverer lifecycle.Deliverer
	transport lifecycle.Transport
	preparers []lifecycle.Preparer
}

// layout says which Applications deliver a target.
func layout(t Target) (argocd.Layout, error) {
	if t.Git == nil {
		return argocd.Layout{}, &lifecycle.Error{Op: "deliver", On: "target " + t.Name, Class: lifecycle.ErrSource,
			Err: errors.New("spec.deliver.argocd needs spec.git, where Argo CD fetches the commits from"), Advice: "Add git: {url: …} to the target."}
	}
	a := t.Deliver.ArgoCD
	l := argocd.Layout{Namespace: a.Namespace, Repository: t.Git.URL, Overlay: t.Overlay, Root: a.Root}
	for _, p := range a.Applications {
		l.Applications = append(l.Applications, argocd.Part{Name: p.Name, Paths: p.Paths})
	}
	return l, nil
}

// throughArgoCD has Argo CD deliver, and objects tell how those are.
func throughArgoCD(t Target, o Options, objects argocd.Objects) (d delivery, err error) {
	l, err := layout(t)
	if err != nil {
		return d, err
	}
	if d.deliverer, err = argocd.New(argocd.Config{RESTConfig: o.REST, Layout: l, Objects: objects, FieldManager: keys.Manager + "-" + t.Name, Log: o.Log}); err != nil {
		return d, err
	}
	p, err := argocd.NewPreparer(l)
	if err != nil {
		return d, err
	}
	d.preparers, d.transport = []lifecycle.Preparer{p}, newPublisher(t, o)
	return d, nil
}

// publisher brings commits to the target's Git server. It is set up when
// something is delivered: nothing else needs git.
type publisher func() (lifecycle.Transport, error)

func newPublisher(t Target, o Options) publisher {
	return sync.OnceValues(func() (lifecycle.Transport, error) {
		r, err := transport.New(transport.Config{URL: cmp.Or(t.Git.Push, t.Git.URL), Dir: o.Checkout, Env: o.Env, Log: o.Log})
		if err != nil {
			return nil, &lifecycle.Error{Op: "publish commits of", On: "target " + t.Name, Err: err}
		}
		return r, nil
	})
}

// Publish implements lifecycle.Transport.
func (p publisher) Publish(ctx context.Context, r lifecycle.PublishRequest) error {
	t, err := p()
	if err != nil {
		return err
	}
	return t.Publish(ctx, r)
}

// Retain implements lifecycle.Transport.
func (p publisher) Retain(ctx context.Context, r lifecycle.RetainRequest) error {
	t, err := p()
	if err != nil {
		return err
	}
	return t.Retain(ctx, r)
}
