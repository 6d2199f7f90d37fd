package argocd

import (
	"context"
	"time"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
)

const (
	// maxTries bounds how often something is written again that somebody else
	// wrote meanwhile: the controller writes statuses often.
	maxTries = 20
	// longestPause is how long is waited at most before it is written again.
	longestPause = time.Second
)

type guard = func(context.Context) error

// changeProject writes a project as make says of it. No operations are no write.
// It returns the project as it is then.
func (g *Gate) changeProject(ctx context.Context, p *argo.Project, may guard, make func(*argo.Project) ([]argo.Op, error)) (*argo.Project, error) {
	return change(ctx, g, p, may, make,
		func() (*argo.Project, error) { return g.client.Project(ctx, g.config.Namespace, p.Metadata.Name) },
		func(p *argo.Project, ops []argo.Op) (*argo.Project, error) {
			return g.client.PatchProject(ctx, p, keys.Manager, ops)
		})
}

// changeApplication does so with an Application.
func (g *Gate) changeApplication(ctx context.Context, a *argo.Application, may guard, make func(*argo.Application) ([]argo.Op, error)) (*argo.Application, error) {
	return change(ctx, g, a, may, make,
		func() (*argo.Application, error) {
			return g.client.Application(ctx, g.config.Namespace, a.Metadata.Name)
		},
		func(a *argo.Application, ops []argo.Op) (*argo.Application, error) {
			return g.client.Patch(ctx, a, keys.Manager, ops)
		})
}

// change writes an object as make says of it. Where somebody else wrote it
// meanwhile, or the answer does not tell whether it was written, it is read, and
// make decides anew: it recognises what was written already. The guard is asked
// right before each write.
func change[T any](ctx context.Context, g *Gate, object T, may guard, make func(T) ([]argo.Op, error), read func() (T, error), write func(T, []argo.Op) (T, error)) (T, error) {
	pause := 20 * time.Millisecond
	for n := 1; ; n++ {
		ops, err := make(object)
		if err != nil || len(ops) == 0 {
			return object, err
		}
		if may != nil {
			if err := may(ctx); err != nil {
				return object, guardError{err}
			}
		}
		changed, err := write(object, ops)
		if err == nil {
			return changed, nil
		}
		again := argo.Changed(err) || !kubeclient.Refused(err) || kubeclient.Transient(err)
		if !again || n == maxTries || ctx.Err() != nil {
			return object, err
		}
		g.config.Log.Debug("write again", "err", err)
		select {
		case <-g.config.Clock.After(pause):
			pause = min(2*pause, longestPause)
		case <-ctx.Done():
			return object, context.Cause(ctx)
		}
		if object, err = read(); err != nil {
			return object, err
		}
	}
}
