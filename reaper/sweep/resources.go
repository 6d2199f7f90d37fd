package sweep

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// Everything as a resource's name stands for all that can be listed, watched and
// deleted, but not for secrets, events and endpoints, which are only meant when they are
// named.
const Everything = "*"

// DefaultResources are what usually is transient: what people and tests make.
func DefaultResources() []string {
	return []string{
		"namespaces", "configmaps", "persistentvolumeclaims", "pods", "serviceaccounts", "services",
		"daemonsets.apps", "deployments.apps", "replicasets.apps", "statefulsets.apps",
		"cronjobs.batch", "jobs.batch",
		"ingresses.networking.k8s.io", "networkpolicies.networking.k8s.io",
		"rolebindings.rbac.authorization.k8s.io", "roles.rbac.authorization.k8s.io",
	}
}

// Resources asks the API server for the resources of these names, as kubectl names
// them: "configmaps", "deployments.apps", or Everything. What it does not have, or
// cannot tell, is in the gaps. Namespaces come first, the others by name. The error is
// that discovery as a whole failed.
func (e *Ender) Resources(ctx context.Context, names []string) ([]Resource, []Gap, error) {
	all, stale, err := e.discover(ctx)
	if err != nil {
		return nil, nil, err
	}
	chosen, gaps := choose(names, all, stale)
	return chosen, gaps, nil
}

// discover asks for all resources. It fails while the API server is not ready.
func (e *Ender) discover(ctx context.Context) (all []kubeclient.Resource, stale []schema.GroupVersion, err error) {
	err = kubeclient.Retry(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, e.config.RequestTimeout)
		defer cancel()
		if err := kubeclient.Ready(ctx, e.plain); err != nil {
			return err
		}
		all, stale, err = kubeclient.Discover(ctx, e.plain)
		return err
	})
	return all, stale, err
}

var needed = []string{"list", "watch", "delete"}

func choose(names []string, all []kubeclient.Resource, stale []schema.GroupVersion) (chosen []Resource, gaps []Gap) {
	seen := map[string]bool{}
	add := func(r kubeclient.Resource) {
		if !seen[r.String()] {
			seen[r.String()] = true
			chosen = append(chosen, resourceOf(r))
		}
	}
	for _, name := range names {
		if name == Everything {
			for _, r := range all {
				if r.Can(needed...) && !onlyNamed(r) {
					add(r)
				}
			}
			for _, gv := range stale {
				gaps = append(gaps, staleGap(gv))
			}
			continue
		}
		i := slices.IndexFunc(all, func(r kubeclient.Resource) bool { return r.String() == name })
		switch {
		case i >= 0 && all[i].Can(needed...):
			add(all[i])
		case i >= 0:
			gaps = append(gaps, Gap{name, "it cannot be listed, watched and deleted"})
		default:
			gaps = append(gaps, Gap{name, whyMissing(name, all, stale)})
		}
	}
	slices.SortStableFunc(chosen, func(a, b Resource) int {
		if a.isNamespaces() != b.isNamespaces() {
			if a.isNamespaces() {
				return -1
			}
			return 1
		}
		return strings.Compare(a.String(), b.String())
	})
	slices.SortFunc(gaps, func(a, b Gap) int { return strings.Compare(a.What, b.What) })
	return chosen, slices.Compact(gaps)
}

// onlyNamed are the resources that Everything does not stand for. Endpoints have the
// labels of their Service, with which they go, and not its annotations.
func onlyNamed(r kubeclient.Resource) bool {
	return r.Group == "" && (r.Resource == "secrets" || r.Resource == "endpoints") || isEvents(r)
}

func isEvents(r kubeclient.Resource) bool {
	return r.Resource == "events" && (r.Group == "" || r.Group == "events.k8s.io")
}

func staleGap(gv schema.GroupVersion) Gap {
	return Gap{gv.String(), "what serves it does not answer the API server: what it has is not known"}
}

func whyMissing(name string, all []kubeclient.Resource, stale []schema.GroupVersion) string {
	resource, group, _ := strings.Cut(name, ".")
	for _, gv := range stale {
		if gv.Group == group {
			return fmt.Sprintf("what serves %s does not answer the API server", gv)
		}
	}
	for _, r := range all {
		if r.Resource == resource || strings.EqualFold(r.Kind, name) {
			return fmt.Sprintf("the API server has no such resource: is it %s?", r)
		}
	}
	return "the API server has no such resource: see kubectl api-resources -o name"
}
