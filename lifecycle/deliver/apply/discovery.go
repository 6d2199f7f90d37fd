package apply

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	discoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// mapping is how the server names a kind's resource.
type mapping struct {
	resource   string
	namespaced bool
}

// discovery holds what the server was found to serve: one aggregated document
// for the core group, one for all others.
type discovery struct {
	mu         sync.Mutex
	core, rest *served
}

// served is one aggregated discovery document.
type served struct {
	kinds map[schema.GroupVersionKind]mapping
	// stale are the group versions whose own server did not answer.
	stale map[schema.GroupVersion]bool
}

func (s *served) find(gvk schema.GroupVersionKind) (mapping, bool) {
	if s == nil {
		return mapping{}, false
	}
	m, ok := s.kinds[gvk]
	return m, ok
}

func (s *served) staleGroup(gv schema.GroupVersion) bool { return s != nil && s.stale[gv] }

// lookup returns the mappings of those kinds that the server serves, and says
// of the others whether the server itself was unsure of their group. It asks
// only for what it has not seen yet.
func (d *Deliverer) lookup(ctx context.Context, kinds []schema.GroupVersionKind) (map[schema.GroupVersionKind]mapping, map[schema.GroupVersion]bool, error) {
	dc := &d.discovery
	dc.mu.Lock()
	defer dc.mu.Unlock()
	wantCore, wantRest := false, false
	for _, k := range kinds {
		doc, want := dc.rest, &wantRest
		if k.Group == "" {
			doc, want = dc.core, &wantCore
		}
		// A kind that an older document misses may have come since.
		if _, ok := doc.find(k); !ok {
			*want = true
		}
	}
	g, gctx := errgroup.WithContext(ctx)
	if wantCore {
		g.Go(func() (err error) { dc.core, err = d.client.discover(gctx, "/api"); return err })
	}
	if wantRest {
		g.Go(func() (err error) { dc.rest, err = d.client.discover(gctx, "/apis"); return err })
	}
	if err := g.Wait(); err != nil {
		return nil, nil, d.client.explain(ctx, "discover the kinds of", d.client.base.Host, err)
	}
	found := map[schema.GroupVersionKind]mapping{}
	stale := map[schema.GroupVersion]bool{}
	for _, k := range kinds {
		doc := dc.rest
		if k.Group == "" {
			doc = dc.core
		}
		if m, ok := doc.find(k); ok {
			found[k] = m
		} else if doc.staleGroup(k.GroupVersion()) {
			stale[k.GroupVersion()] = true
		}
	}
	return found, stale, nil
}

func (c *client) discover(ctx context.Context, path string) (*served, error) {
	var list discoveryv2.APIGroupDiscoveryList
	if _, err := c.do(ctx, request{method: http.MethodGet, path: path, accept: acceptDiscovery, into: &list}); err != nil {
		return nil, err
	}
	if list.Kind != "APIGroupDiscoveryList" {
		return nil, errors.New("the server does not speak aggregated discovery: Kubernetes 1.30 or newer is needed")
	}
	return readDiscovery(list), nil
}

func readDiscovery(list discoveryv2.APIGroupDiscoveryList) *served {
	s := &served{kinds: map[schema.GroupVersionKind]mapping{}, stale: map[schema.GroupVersion]bool{}}
	for _, g := range list.Items {
		for _, v := range g.Versions {
			gv := schema.GroupVersion{Group: g.Name, Version: v.Version}
			if v.Freshness == discoveryv2.DiscoveryFreshnessStale {
				s.stale[gv] = true
			}
			for _, r := range v.Resources {
				// What cannot be patched cannot be delivered: reviews, metrics.
				if r.ResponseKind == nil || !slices.Contains(r.Verbs, "patch") {
					continue
				}
				s.kinds[gv.WithKind(r.ResponseKind.Kind)] = mapping{r.Resource, r.Scope == discoveryv2.ScopeNamespace}
			}
		}
	}
	return s
}
