package standard

import (
	"cmp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/receipt"
)

// reserved says which objects no overlay may name: where receipts and leases
// are, of whichever target. Their names begin with "pharos-" there. An object
// without a namespace goes to where the deliverer puts it.
func reserved(namespace string) func(receipt.Object) bool {
	const otherwise = metav1.NamespaceDefault // of apply.Config.DefaultNamespace
	return func(o receipt.Object) bool {
		kept := o.Group == "" && o.Kind == "ConfigMap" || o.Group == "coordination.k8s.io" && o.Kind == "Lease"
		return kept && cmp.Or(o.Namespace, otherwise) == namespace && strings.HasPrefix(o.Name, keys.Manager+"-")
	}
}
