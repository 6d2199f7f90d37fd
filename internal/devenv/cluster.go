package devenv

import (
	"sync"
	"sync/atomic"

	"k8s.io/client-go/rest"
)

// Cluster is a Kubernetes cluster that this process uses: one that it started, or an existing one. Its methods may be
// called by several goroutines at once.
type Cluster struct {
	config     *rest.Config
	kubeconfig string
	context    string
	// launch is nil for an existing cluster.
	launch *launch

	// auditLog is the path of the audit log. Below auditCut, the log's size at the last restart, a request that was under
	// way never completes.
	auditLog string
	auditCut atomic.Int64

	// mu orders Restart, Kill and Stop.
	mu      sync.Mutex
	process *process
	stopped bool
}

// Config returns a new copy of the administrator's client configuration, without a limit on its own requests.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Kubeconfig is the path of a kubeconfig file whose only and current context is this cluster's, with mode 0600.
func (c *Cluster) Kubeconfig() string { return c.kubeconfig }

// ContextName is the name of the context in [Cluster.Kubeconfig].
func (c *Cluster) ContextName() string { return c.context }

// Started reports whether this process started the cluster: only then it has an audit log, and can be restarted.
func (c *Cluster) Started() bool { return c.launch != nil }

// StateDir is the folder with the cluster's data, credentials and logs; empty for an existing cluster.
func (c *Cluster) StateDir() string {
	if c.launch == nil {
		return ""
	}
	return c.launch.stateDir
}

// PID is the ID of the cluster's process; zero while it does not run, and for an existing cluster.
func (c *Cluster) PID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		return 0
	}
	return c.process.cmd.Process.Pid
}
