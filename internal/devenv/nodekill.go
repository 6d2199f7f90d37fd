package devenv

import (
	"context"
	"fmt"
)

// KillKubelet ends the kubelet with SIGKILL and waits until it is gone. What runs in pods goes on; nothing is started, ended or
// probed, and no new exec, log or port-forward works, until [Node.StartKubelet]. Its errors, as those of the other methods
// that kill and start a part of the node, are that the cluster has ended or was stopped, that the part is not in a state
// for this, and ctx's.
//
// All that use the node are hit: a test that does so must not run beside others.
func (n *Node) KillKubelet(ctx context.Context) error { return n.command(ctx, "kill-kubelet") }

// StartKubelet starts the kubelet again and waits until it says that it is healthy.
func (n *Node) StartKubelet(ctx context.Context) error { return n.command(ctx, "start-kubelet") }

// KillAPIServer ends the API server with SIGKILL and waits until it is gone. Connections are refused until
// [Node.StartAPIServer]. Its data, which etcd has, stays; requests that were under way never complete in the audit log.
func (n *Node) KillAPIServer(ctx context.Context) error {
	if err := n.command(ctx, "kill-apiserver"); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cutAudit()
}

// StartAPIServer starts the API server again, at the same addresses, and waits until it says that it is ready.
func (n *Node) StartAPIServer(ctx context.Context) error { return n.command(ctx, "start-apiserver") }

func (n *Node) command(ctx context.Context, command string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stopped {
		return fmt.Errorf("%s: %w", command, ErrStopped)
	}
	return n.process.command(ctx, n.launch, command)
}
