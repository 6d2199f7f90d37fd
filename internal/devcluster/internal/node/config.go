package node

import "github.com/pharos-dev/pharos/internal/devcluster/internal/state"

// Commands of this program by which Keep, Init and Run start the next process.
const (
	InitCommand      = "node-init"
	RunCommand       = "node-run"
	APIServerCommand = "node-apiserver"
)

// Command is what can be asked for once all is ready.
type Command string

// The commands kill a process with SIGKILL, and start it again with what it had: the kubelet, or the API server.
const (
	KillKubelet    Command = "kill-kubelet"
	StartKubelet   Command = "start-kubelet"
	KillAPIServer  Command = "kill-apiserver"
	StartAPIServer Command = "start-apiserver"
)

// Answer says that a command was obeyed, or why not.
type Answer struct {
	Command Command `json:"command"`
	Error   string  `json:"error,omitempty"`
}

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
