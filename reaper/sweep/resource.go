package sweep

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// Resource is a resource of the API server.
type Resource struct {
	// Group is "" for the core group.
	Group, Version string
	// Resource is the name in paths, such as "configmaps", Kind that of its objects.
	Resource, Kind string
	Namespaced     bool
}

// String names the resource as kubectl does: "configmaps", "deployments.apps".
func (r Resource) String() string { return r.GroupResource().String() }

// GroupResource is the resource in its group.
func (r Resource) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Group, Resource: r.Resource}
}

// GVR is the resource in its group and version.
func (r Resource) GVR() schema.GroupVersionResource {
	return r.GroupResource().WithVersion(r.Version)
}

// Namespaces are the namespaces.
var namespaces = Resource{Version: "v1", Resource: "namespaces", Kind: "Namespace"}

func (r Resource) isNamespaces() bool { return r.Group == "" && r.Resource == namespaces.Resource }

func resourceOf(r kubeclient.Resource) Resource {
	return Resource{Group: r.Group, Version: r.Version, Resource: r.Resource, Kind: r.Kind, Namespaced: r.Namespaced}
}
