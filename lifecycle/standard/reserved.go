package standard

import (
	"strings"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/receipt"
)

// reserved says which objects no overlay may name: where receipts and leases
// are, of whichever target. Their names begin with "pharos-" there.
func reserved(namespace string) func(receipt.Object) bool {
	return func(o receipt.Object) bool {
		kept := o.Group == "" && o.Kind == "ConfigMap" || o.Group == "coordination.k8s.io" && o.Kind == "Lease"
		return kept && (o.Namespace == namespace || o.Namespace == "") && strings.HasPrefix(o.Name, keys.Manager+"-")
	}
}
