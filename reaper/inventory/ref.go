package inventory

import (
	"cmp"
	"strings"
)

// Ref names an object, in whichever version it is served.
type Ref struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String is the object for people, such as "StatefulSet shop/db".
func (r Ref) String() string {
	name := r.Name
	if r.Namespace != "" {
		name = r.Namespace + "/" + r.Name
	}
	return r.Kind + " " + name
}

// compare orders by kind, namespace and name, as people read it.
func (r Ref) compare(o Ref) int {
	return cmp.Or(strings.Compare(r.Kind, o.Kind), strings.Compare(r.Group, o.Group), strings.Compare(r.Namespace, o.Namespace), strings.Compare(r.Name, o.Name))
}
