package state

// What a cluster with a real node is made of. The addresses are in a network namespace of its own, so they can meet
// with no others, and are the same for every cluster.
const (
	// NodeName is the name of the real node.
	NodeName = "node"
	// NodeAddress is the address of the node, at which pods reach the API server and what else runs beside them.
	NodeAddress = "10.99.0.1"
	// NodePrefix is the length of the prefix of the node's own network.
	NodePrefix = 24
	// PodRange is where pods have their addresses.
	PodRange = "10.99.128.0/17"
	// ServiceRange is where Services have theirs. The first one is the API server's.
	ServiceRange   = "10.0.0.0/16"
	serviceAddress = "10.0.0.1"
)
