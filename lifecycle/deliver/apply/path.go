package apply

import (
	"path"

	"github.com/pharos-dev/pharos/receipt"
)

// collection is one resource of the API, in all namespaces or in one.
type collection struct {
	group, version, kind, resource string
	namespace                      string // "" is all of them, or a cluster-scoped resource
}

func collectionOf(o receipt.Object) collection {
	return collection{o.Group, o.Version, o.Kind, o.Resource, o.Namespace}
}

func (c collection) in(namespace string) collection {
	c.namespace = namespace
	return c
}

// path is the collection's path below the API server's address.
func (c collection) path() string {
	root := "/api/" + c.version
	if c.group != "" {
		root = "/apis/" + c.group + "/" + c.version
	}
	if c.namespace != "" {
		root = path.Join(root, "namespaces", c.namespace)
	}
	return path.Join(root, c.resource)
}

// name names the collection as kubectl does: "deployments.apps".
func (c collection) name() string {
	n := c.resource
	if c.group != "" {
		n += "." + c.group
	}
	if c.namespace != "" {
		n += " in namespace " + c.namespace
	}
	return n
}

// key identifies an object whatever its version.
type key struct{ group, kind, namespace, name string }

func keyOf(o receipt.Object) key { return key{o.Group, o.Kind, o.Namespace, o.Name} }
