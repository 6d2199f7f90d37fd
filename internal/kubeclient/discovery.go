package kubeclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	discoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

const acceptDiscovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// Resource is what an API server serves under one name.
type Resource struct {
	// Group is "" for the core group. Version is the one that the server prefers of
	// those that have the resource.
	Group, Version string
	// Resource is the plural name in paths, Kind that of its objects.
	Resource, Kind string
	Namespaced     bool
	// Verbs are what can be done with it, such as "list".
	Verbs []string
}

// String names the resource as kubectl does: "configmaps", "deployments.apps".
func (r Resource) String() string {
	return schema.GroupResource{Group: r.Group, Resource: r.Resource}.String()
}

// GVR is the resource with its group and version.
func (r Resource) GVR() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Resource}
}

// Can says whether all of the verbs can be done with it.
func (r Resource) Can(verbs ...string) bool {
	return !slices.ContainsFunc(verbs, func(v string) bool { return !slices.Contains(r.Verbs, v) })
}

// Discover asks the server for all its resources, by name. Of the group versions in
// stale, those that serve them did not answer the server, so that they may have
// resources that are not in the list: they are not absent. It needs Kubernetes 1.30
// or newer; of c only the address counts.
func Discover(ctx context.Context, c rest.Interface) (resources []Resource, stale []schema.GroupVersion, err error) {
	for _, path := range []string{"/api", "/apis"} {
		answer := c.Get().AbsPath(path).SetHeader("Accept", acceptDiscovery).MaxRetries(0).Do(ctx)
		if err := answer.Error(); err != nil { // which Raw does not read
			return nil, nil, fmt.Errorf("discover the resources of the API server: %w", err)
		}
		body, err := answer.Raw()
		if err != nil {
			return nil, nil, fmt.Errorf("discover the resources of the API server: %w", err)
		}
		var list discoveryv2.APIGroupDiscoveryList
		if err := json.Unmarshal(body, &list); err != nil {
			return nil, nil, fmt.Errorf("discover the resources of the API server: read its answer: %w", err)
		}
		if list.Kind != "APIGroupDiscoveryList" {
			return nil, nil, errors.New("discover the resources of the API server: it does not speak aggregated discovery: Kubernetes 1.30 or newer is needed")
		}
		if len(list.Items) == 0 { // or everything would be absent
			return nil, nil, fmt.Errorf("discover the resources of the API server: its answer to %s names no group, which no API server is without", path)
		}
		for _, g := range list.Items {
			r, s := resourcesOf(g)
			resources, stale = append(resources, r...), append(stale, s...)
		}
	}
	slices.SortFunc(resources, func(a, b Resource) int { return strings.Compare(a.String(), b.String()) })
	return resources, stale, nil
}

func resourcesOf(g discoveryv2.APIGroupDiscovery) (resources []Resource, stale []schema.GroupVersion) {
	seen := map[string]bool{}
	for _, v := range g.Versions { // the preferred one first
		if v.Freshness == discoveryv2.DiscoveryFreshnessStale {
			stale = append(stale, schema.GroupVersion{Group: g.Name, Version: v.Version})
		}
		for _, r := range v.Resources {
			if r.ResponseKind == nil || seen[r.Resource] {
				continue
			}
			seen[r.Resource] = true
			resources = append(resources, Resource{
				Group: g.Name, Version: v.Version, Resource: r.Resource, Kind: r.ResponseKind.Kind,
				Namespaced: r.Scope == discoveryv2.ScopeNamespace, Verbs: r.Verbs,
			})
		}
	}
	return resources, stale
}
