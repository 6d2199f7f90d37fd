package devenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// NodeOptions say how a cluster with a real node is started.
type NodeOptions struct {
	// Output receives lines of progress, above all of builds that take minutes. The default discards them.
	Output io.Writer
	// ReadyTimeout bounds how long the node may take to become ready once its programs are built and it is this
	// process' turn. The default is two minutes, for machines that are busy.
	ReadyTimeout time.Duration
}

// StartNode builds what a cluster with a real node needs (see [NodePrograms]), waits until no other process of this machine has
// one, starts it, and waits until it is ready: what [Start] waits for, the node is Ready, CoreDNS answers, and a
// Deployment's pod has run on the node and is gone. What an earlier node left that was killed hard is removed first.
//
// ctx bounds the wait and the start, not the node's life: that ends with [Cluster.Stop] or with this process, whichever
// comes first. It returns a *[NodeUnavailableError] where no node can run (see [NodeAvailable]) and a *[StartError]
// with the end of the log when the node does not become ready.
func StartNode(ctx context.Context, o NodeOptions) (*Node, error) {
	if err := NodeAvailable(); err != nil {
		return nil, err
	}
	options := Options{Output: o.Output, ReadyTimeout: o.ReadyTimeout, NoNode: true}.withDefaults()
	binary, err := Build(ctx, options.Output)
	if err != nil {
		return nil, err
	}
	programs, err := NodePrograms(ctx, options.Output)
	if err != nil {
		return nil, err
	}
	l := &launch{
		binary:       binary,
		stateDir:     throwAwayDir(),
		throwAway:    true,
		noNode:       true,
		readyTimeout: options.ReadyTimeout,
		output:       options.Output,
		nodePrograms: programs,
	}
	start := time.Now()
	fmt.Fprintln(options.Output, "starting a development cluster with a real node")
	p, err := l.start(ctx)
	if err != nil {
		return nil, err
	}
	config, err := loadConfig(p.ready.Kubeconfig)
	if err == nil && p.ready.Node == nil {
		err = errors.New("it does not say where its node's services are")
	}
	if err != nil {
		return nil, errors.Join(&StartError{What: l.what(), Err: err}, p.stop(), l.cleanUp())
	}
	fmt.Fprintf(options.Output, "the development cluster with a real node at %s is ready after %s\n",
		p.ready.Server, time.Since(start).Round(100*time.Millisecond))
	return &Node{
		ready: *p.ready.Node,
		Cluster: &Cluster{
			config:     config,
			kubeconfig: p.ready.Kubeconfig,
			context:    p.ready.Context,
			launch:     l,
			auditLog:   p.ready.AuditLog,
			process:    p,
		},
	}, nil
}
