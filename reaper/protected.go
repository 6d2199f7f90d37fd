package reaper

import (
	"slices"
	"strings"
)

// own are the objects that every namespace has of its own accord.
var own = []struct{ kind, name string }{
	{"ServiceAccount", "default"},
	{"ConfigMap", "kube-root-ca.crt"},
}

// protects says why an object is the system's, or nothing.
func (r Rules) protects(o Object) string {
	core := o.Group == ""
	namespace, noun := o.Namespace, "it is in the namespace "
	if core && o.Kind == "Namespace" {
		namespace, noun = o.Name, "it is the namespace "
		if namespace == "default" {
			return "it is the namespace default"
		}
	}
	switch {
	case namespace != "" && strings.HasPrefix(namespace, "kube-"):
		return noun + namespace + ", which is the system's"
	case namespace != "" && slices.Contains(r.ProtectedNamespaces, namespace):
		return noun + namespace + ", which is protected"
	case core && slices.ContainsFunc(own, func(s struct{ kind, name string }) bool { return s.kind == o.Kind && s.name == o.Name }),
		namespace == "default" && o.Name == "kubernetes" && (core && o.Kind == "Service" || core && o.Kind == "Endpoints" || o.Kind == "EndpointSlice"):
		return "it is of the namespace " + namespace + " itself"
	}
	return ""
}
