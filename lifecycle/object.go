package lifecycle

import "github.com/pharos-dev/pharos/receipt"

// ObjectName is how messages name an object: "Deployment shop/api".
func ObjectName(o receipt.Object) string {
	name := o.Name
	if o.Namespace != "" {
		name = o.Namespace + "/" + name
	}
	return o.Kind + " " + name
}
