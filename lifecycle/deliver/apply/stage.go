package apply

import "github.com/pharos-dev/pharos/receipt"

// The stages of a delivery. Within one, objects are applied in parallel, about
// in the order in which they were given.
const (
	stageDefinitions = iota // kinds and namespaces: what others cannot be sent without
	stageParts              // what workloads refer to: accounts, roles, configuration, services
	stageWorkloads          // what runs
	stageGates              // what judges later writes: it must not judge this delivery's own
	stages
)

func stageOf(o receipt.Object) int {
	switch o.Group {
	case "":
		switch o.Kind {
		case "Namespace":
			return stageDefinitions
		case "Pod", "ReplicationController":
			return stageWorkloads
		}
	case crdKind.Group:
		return stageDefinitions
	case "apps", "batch":
		return stageWorkloads
	case "admissionregistration.k8s.io", "apiregistration.k8s.io":
		return stageGates
	}
	return stageParts
}
