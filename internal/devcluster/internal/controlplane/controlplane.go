package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/pharos-dev/pharos/internal/devcluster/internal/state"
)

// How long a part may take to end before the process ends without it. Every answered write is in etcd's files by
// then, which the system keeps when the process goes.
const (
	controllersEnd = 2 * time.Second
	apiServerEnd   = 5 * time.Second
)

// Config says what runs.
type Config struct {
	// Folder holds the cluster's state.
	Folder *state.Folder
	// HollowNode adds a node on which pods seem to run.
	HollowNode bool
	// Node is set if the cluster has a real node.
	Node *Node
	// Log receives what this package and the hollow node have to say.
	Log *slog.Logger
	// LogFile receives what Kubernetes' own logger writes.
	LogFile io.Writer
	// Ready is called once, when the cluster is ready, with the address of the API server.
	Ready func(server string)
}

// Node says how the control plane serves a real node.
type Node struct {
	// Name is the name that the node registers with.
	Name string
	// Server is the API server's host:port on the loopback, which serves this process and, as it is, the cluster's users.
	Server string
	// APIServer runs the API server there, on an etcd, in a process of its own: see [ServeAPI].
	APIServer func(etcd string) Part
	// Early are started at once, and Parts when the API server is ready.
	Early, Parts []Part
	// Ready is asked again and again until it says that what is beside the node works.
	Ready func(context.Context) (bool, error)
	// ProbeImage is an image that the node can pull and whose container runs until it is asked to end.
	ProbeImage string
}

// Part is a part of the cluster that runs until its context ends.
type Part struct {
	// Name is what errors call it.
	Name string
	// Run runs it. If it returns before the context ends, the cluster has failed.
	Run func(context.Context) error
}

// Run runs the cluster until ctx ends or one of its parts fails; nil is returned only in the first case.
// Kubernetes keeps state in global variables, so Run may be called once in a process, and goroutines of its parts may
// outlive it: the process should end then.
func Run(ctx context.Context, c Config) error {
	if err := setUpLogging(c.LogFile); err != nil {
		return err
	}
	keys, err := c.Folder.Keys()
	if err != nil {
		return err
	}
	address, apiServer, err := c.apiServer()
	if err != nil {
		return err
	}
	server := "https://" + address
	if err := c.Folder.Kubeconfigs(server, keys.CAData); err != nil {
		return err
	}

	etcd, err := startEtcd(ctx, c.Folder, keys)
	if err != nil {
		return err
	}
	defer etcd.Close()

	parts := &parts{failed: make(chan error, 1)}
	// The API server must outlive the controllers: they end by writing to it.
	apiCtx, endAPIServer := context.WithCancel(context.WithoutCancel(ctx))
	defer endAPIServer()
	api := apiServer(etcdAddress(etcd))
	apiServerDone := parts.run(apiCtx, api.Name, api.Run)

	started := time.Now()
	controllersCtx, endControllers := context.WithCancel(ctx)
	defer endControllers()
	var controllersDone []<-chan struct{}
	if c.Node != nil {
		for _, p := range c.Node.Early {
			controllersDone = append(controllersDone, parts.run(controllersCtx, p.Name, p.Run))
		}
	}
	err = func() error {
		if err := awaitAPIServer(controllersCtx, c.Folder, parts.failed); err != nil {
			return err
		}
		c.Log.Info("the API server is ready", "server", server, "after", time.Since(started))
		for _, p := range c.controllers() {
			controllersDone = append(controllersDone, parts.run(controllersCtx, p.Name, p.Run))
		}
		if err := awaitControllers(controllersCtx, c, parts.failed); err != nil {
			return err
		}
		c.Log.Info("the cluster is ready", "after", time.Since(started))
		c.Ready(server)
		select {
		case err := <-parts.failed:
			return err
		case <-ctx.Done():
			return nil
		}
	}()
	if err != nil && ctx.Err() != nil {
		// Asked to end while starting.
		err = nil
	}
	if err != nil {
		// At once: a part that misses another one may end the whole process.
		c.Log.Error("a part of the cluster failed", "err", err)
	}

	endControllers()
	c.awaitEnd(controllersEnd, controllersDone...)
	endAPIServer()
	c.awaitEnd(apiServerEnd, apiServerDone)
	return err
}

// apiServer is where the API server is to listen, and what runs it.
func (c Config) apiServer() (address string, on func(etcd string) Part, err error) {
	if c.Node != nil {
		return c.Node.Server, c.Node.APIServer, nil
	}
	listener, err := c.Folder.Listen()
	if err != nil {
		return "", nil, err
	}
	return listener.Addr().String(), func(etcd string) Part {
		return Part{apiServerName, APIServer{Folder: c.Folder, Etcd: etcd, Listener: listener}.run}
	}, nil
}

func (c Config) controllers() []Part {
	all := []Part{
		{"kube-controller-manager", c.runControllerManager},
		{"kube-scheduler", c.runScheduler},
	}
	if c.HollowNode {
		all = append(all, Part{"hollow node", c.runHollowNode})
	}
	if c.Node != nil {
		all = append(all, c.Node.Parts...)
	}
	return all
}

// parts notices when a part of the cluster ends before it should.
type parts struct {
	// failed receives the first failure.
	failed chan error
}

// run starts a part and returns a channel that is closed when it has ended.
func (p *parts) run(ctx context.Context, name string, run func(context.Context) error) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := run(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = errors.New("it ended by itself")
		}
		select {
		case p.failed <- fmt.Errorf("%s: %w", name, err):
		default:
		}
	}()
	return done
}

func (c Config) awaitEnd(timeout time.Duration, done ...<-chan struct{}) {
	deadline := time.After(timeout)
	for _, d := range done {
		select {
		case <-d:
		case <-deadline:
			c.Log.Info("not all parts have ended in time; the process ends without them", "timeout", timeout)
			return
		}
	}
}
