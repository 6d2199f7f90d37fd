package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/pharos-dev/pharos/internal/devenv"
)

// noop compares a reconcile that has nothing to do with the cheapest question
// that a user asks the same cluster.
func noop(ctx context.Context, b *bench) ([]comparison, error) {
	kubectl, err := devenv.Kubectl(ctx, b.progress)
	if err != nil {
		return nil, err
	}
	cluster, err := devenv.Start(ctx, devenv.Options{Output: b.progress})
	if err != nil {
		return nil, err
	}
	b.closers = append(b.closers, cluster.Stop)
	plugin, err := b.plugin(ctx)
	if err != nil {
		return nil, err
	}
	few, err := noopShop(ctx, b, plugin, cluster.Kubeconfig(), "shop", 3)
	if err != nil {
		return nil, err
	}
	many, err := noopShop(ctx, b, plugin, cluster.Kubeconfig(), "mall", manyImages)
	if err != nil {
		return nil, err
	}
	compare := func(name, namespace string, reconcile command) comparison {
		get := command{
			path: kubectl, args: []string{"get", "deployments", "--namespace", namespace, "--cache-dir", filepath.Join(b.dir, "kubectl-cache")}, env: reconcile.env,
		}
		return comparison{
			name: name,
			ours: side{name: "kubectl-pharos reconcile", run: reconcile.run},
			peer: side{name: "kubectl get deployments", run: get.run},
			note: func(ctx context.Context) (string, error) {
				ours, err := apiCalls(ctx, cluster, reconcile, "kubectl-pharos/")
				if err != nil {
					return "", err
				}
				theirs, err := apiCalls(ctx, cluster, get, "kubectl/")
				return fmt.Sprintf("API calls: %s and %s", ours, theirs), err
			},
		}
	}
	return []comparison{
		compare("no-op reconcile", "shop", few),
		compare(fmt.Sprintf("no-op reconcile, %d images", manyImages), "mall", many),
	}, nil
}

// apiCalls counts by the API server's audit log what a command asks.
func apiCalls(ctx context.Context, cluster *devenv.Cluster, c command, userAgent string) (string, error) {
	audit, err := cluster.AuditFromNow(ctx)
	if err != nil {
		return "", err
	}
	if err := c.run(ctx); err != nil {
		return "", err
	}
	events, err := audit.Events(ctx)
	if err != nil {
		return "", err
	}
	reads, writes := 0, 0
	for _, e := range events {
		switch {
		case !strings.HasPrefix(e.UserAgent, userAgent):
		case e.Verb == "get" || e.Verb == "list" || e.Verb == "watch":
			reads++
		default:
			writes++
		}
	}
	return fmt.Sprintf("%d reads, %d writes", reads, writes), nil
}
