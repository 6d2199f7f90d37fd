package node

import "github.com/pharos-dev/pharos/internal/devcluster/internal/state"

// Commands of this program by which Keep and Init start the next process.
const (
	InitCommand = "node-init"
	RunCommand  = "node-run"
)

// Programs are the programs of a node that have to be given, by name.
var Programs = []string{"kubelet", "kube-proxy", "coredns", "containerd", "containerd-shim-runc-v2", "pause"}

const (
	registryAddress = state.NodeAddress + ":5000"
	gitAddress      = state.NodeAddress + ":3000"
)

// Ready says where the parts of a cluster are.
type Ready struct {
	// Server is the API server's address.
	Server string `json:"server"`
	// Name is the name of the node.
	Name string `json:"name"`
	// PushRegistry and GitPush are addresses on the machine's loopback, PullRegistry and GitURL the same for the node and
	// its pods.
	PushRegistry string `json:"pushRegistry"`
	PullRegistry string `json:"pullRegistry"`
	GitPush      string `json:"gitPush"`
	GitURL       string `json:"gitURL"`
	// Busybox is the reference of an image with busybox.
	Busybox string `json:"busybox"`
	// PID is the machine's ID of the first process in the node's namespaces.
	PID int `json:"pid"`
}

// inside is what Keep tells the processes that it starts.
type inside struct {
	State    string
	Programs map[string]string
}
