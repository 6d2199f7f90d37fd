package argocd

import (
	"cmp"
	"context"
	"slices"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
)

// NoRevision is the targetRevision of a root that nothing was delivered to yet:
// no commit has that name, so nothing is delivered from a branch either.
const NoRevision = "pharos-has-not-delivered-yet"

// Server is the destination of the cluster in which Argo CD runs.
const Server = argo.Server

// Preparer prepares a target for this way of delivery. With a root it names:
//
//   - an AppProject pharos-TARGET that allows the repository, the namespaces and
//     the kinds of what the commit delivers, and nothing else. It is kept so, but
//     for its sync windows, which are left to others
//   - the root Application, if it is missing: of that project, with self-heal and
//     without pruning. It points at no commit (NoRevision) until the first
//     delivery
//
// and in any case the rights of the package comment for the account as which
// deliveries in the cluster run. It is safe for concurrent use.
type Preparer struct{ layout Layout }

var _ lifecycle.Preparer = (*Preparer)(nil)

// NewPreparer returns a Preparer of the layout's Applications.
func NewPreparer(l Layout) (*Preparer, error) {
	l, err := l.resolve()
	if err != nil {
		return nil, err
	}
	return &Preparer{l}, nil
}

// Prepare returns one step, named "argocd".
func (p *Preparer) Prepare(_ context.Context, r lifecycle.PrepareRequest) ([]lifecycle.PrepareStep, error) {
	step := lifecycle.PrepareStep{Name: "argocd"}
	apply, create := p.rights(r), []map[string]any(nil)
	if p.layout.Root != "" {
		apply = append([]map[string]any{p.project(r)}, apply...)
		create = append(create, p.root(r))
	}
	for _, l := range []struct {
		from []map[string]any
		to   *[]lifecycle.Object
	}{{apply, &step.Apply}, {create, &step.Create}} {
		for _, content := range l.from {
			o, err := objectOfMap(content)
			if err != nil {
				return nil, err
			}
			*l.to = append(*l.to, o)
		}
	}
	return []lifecycle.PrepareStep{step}, nil
}

func (p *Preparer) projectName(target string) string { return keys.Manager + "-" + target }

func (p *Preparer) project(r lifecycle.PrepareRequest) map[string]any {
	namespaces := []string{p.layout.Namespace} // where the Applications of a root go
	type kind struct{ group, kind string }
	var cluster, namespaced []kind
	for _, o := range r.Resolved {
		if isApplication(o.Group, o.Kind) && p.layout.direct(o.Namespace, o.Name) {
			continue
		}
		list := &namespaced
		if o.Namespace == "" {
			list = &cluster
		} else if !slices.Contains(namespaces, o.Namespace) {
			namespaces = append(namespaces, o.Namespace)
		}
		if k := (kind{o.Group, o.Kind}); !slices.Contains(*list, k) {
			*list = append(*list, k)
		}
	}
	slices.Sort(namespaces)
	destinations := []any{}
	for _, n := range namespaces {
		destinations = append(destinations, map[string]any{"server": Server, "namespace": n})
	}
	whitelist := func(kinds []kind) []any {
		slices.SortFunc(kinds, func(a, b kind) int { return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.kind, b.kind)) })
		list := []any{}
		for _, k := range kinds {
			list = append(list, map[string]any{"group": k.group, "kind": k.kind})
		}
		return list
	}
	return object(argo.Group+"/"+argo.Version, argo.KindProject, p.layout.Namespace, p.projectName(r.Target), "spec", map[string]any{
		"description":                "What Pharos delivers to the target " + r.Target,
		"sourceRepos":                []any{p.layout.Repository},
		"destinations":               destinations,
		"clusterResourceWhitelist":   whitelist(cluster),
		"namespaceResourceWhitelist": whitelist(namespaced),
	})
}

func (p *Preparer) root(r lifecycle.PrepareRequest) map[string]any {
	return object(argo.Group+"/"+argo.Version, argo.KindApplication, p.layout.Namespace, p.layout.Root, "spec", map[string]any{
		"project":     p.projectName(r.Target),
		"source":      map[string]any{"repoURL": p.layout.Repository, "path": p.layout.Applications[0].Paths[0], "targetRevision": NoRevision},
		"destination": map[string]any{"server": Server, "namespace": p.layout.Namespace},
		"syncPolicy":  map[string]any{"automated": map[string]any{"prune": false, "selfHeal": true}},
	})
}

// rights are those of the package comment, and to list the projects: whoever
// acquires the lease looks for windows there that earlier ones left.
func (p *Preparer) rights(r lifecycle.PrepareRequest) []map[string]any {
	name := keys.Manager + "-" + r.Target + "-argocd"
	return []map[string]any{
		object("rbac.authorization.k8s.io/v1", "Role", p.layout.Namespace, name, "rules", []any{
			map[string]any{"apiGroups": []any{argo.Group}, "resources": []any{"applications"}, "verbs": []any{"get", "watch", "patch"}},
			map[string]any{"apiGroups": []any{argo.Group}, "resources": []any{"appprojects"}, "verbs": []any{"get", "list"}},
			map[string]any{"apiGroups": []any{""}, "resources": []any{"configmaps"}, "resourceNames": []any{argo.SettingsName}, "verbs": []any{"get"}},
		}),
		func() map[string]any {
			o := object("rbac.authorization.k8s.io/v1", "RoleBinding", p.layout.Namespace, name, "subjects", []any{
				map[string]any{"kind": "ServiceAccount", "namespace": r.Namespace, "name": r.Account},
			})
			o["roleRef"] = map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
			return o
		}(),
	}
}

func object(apiVersion, kind, namespace, name, field string, value any) map[string]any {
	return map[string]any{
		"apiVersion": apiVersion, "kind": kind, field: value,
		"metadata": map[string]any{"namespace": namespace, "name": name, "labels": map[string]any{keys.ManagedBy: keys.Manager}},
	}
}
