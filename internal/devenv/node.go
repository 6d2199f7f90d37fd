package devenv

import (
	"context"
	"sync"
)

// Node is a cluster with one real node: pods run under containerd, have addresses and names, and can be looked into with
// exec, logs and port-forward. Beside it run a registry and a Git server, each reachable at one address from
// this machine's loopback and at another one from the node and its pods.
//
// All that belongs to it runs in namespaces of its own (process, mount, network, cgroup), so that it sees nothing of the
// machine's network, and leaves nothing when its first process ends. Of the machine's files it has its own below /run, /var/lib
// and /var/log, and sees all others: a volume of a pod with a path of the node should be below one of these.
//
// Its methods may be called by several goroutines at once. [Cluster.Restart], [Cluster.Kill] and [Cluster.Resume] return [ErrHasNode].
type Node struct {
	*Cluster
	ready nodeReady

	buildKit struct {
		mu        sync.Mutex
		reference string
	}
}

// nodeReady is what the process says of the node beside the cluster.
type nodeReady struct {
	Name         string `json:"name"`
	PushRegistry string `json:"pushRegistry"`
	PullRegistry string `json:"pullRegistry"`
	GitPush      string `json:"gitPush"`
	GitURL       string `json:"gitURL"`
	Busybox      string `json:"busybox"`
	PID          int    `json:"pid"`
}

// Context is the name of the context in [Cluster.Kubeconfig].
func (n *Node) Context() string { return n.ContextName() }

// Name is the name of the Node object.
func (n *Node) Name() string { return n.ready.Name }

// PushRegistry is the registry's host:port on this machine's loopback, which begins an image reference. It speaks plain
// HTTP, and keeps what it is given until the node is stopped.
func (n *Node) PushRegistry() string { return n.ready.PushRegistry }

// PullRegistry is the host:port of the same registry from the node and its pods. The node pulls from it over plain HTTP.
func (n *Node) PullRegistry() string { return n.ready.PullRegistry }

// GitPush is the Git server's address on this machine's loopback, such as "http://127.0.0.1:23456": smart HTTP without
// authentication. Every path below it that ends in ".git" is a repository, which the first push to it makes. What
// was not pushed yet is not found.
func (n *Node) GitPush() string { return n.ready.GitPush }

// GitURL is the address of the same Git server from the node and its pods.
func (n *Node) GitURL() string { return n.ready.GitURL }

// Busybox is the reference by digest, in [Node.PullRegistry], of an image with Debian's busybox and a link for each
// of its commands in /bin.
func (n *Node) Busybox() string { return n.ready.Busybox }

// InitPID is the ID, on this machine, of the first process of the node's namespaces: "nsenter --net=/proc/PID/ns/net"
// runs a program in the node's network.
func (n *Node) InitPID() int { return n.ready.PID }

// BuildKitImage returns the reference by digest, in [Node.PullRegistry], of an image of BuildKit for Jobs: buildkitd and
// buildctl, and of Debian runc, git and busybox, with the libraries that they need. A container of it has to be
// privileged and to have a volume at /var/lib/buildkit. The first call builds BuildKit where needed (see
// [BuildKitPrograms]) and pushes the image.
func (n *Node) BuildKitImage(ctx context.Context) (string, error) {
	n.buildKit.mu.Lock()
	defer n.buildKit.mu.Unlock()
	if n.buildKit.reference != "" {
		return n.buildKit.reference, nil
	}
	reference, err := n.pushBuildKit(ctx)
	if err != nil {
		return "", err
	}
	n.buildKit.reference = reference
	return reference, nil
}
