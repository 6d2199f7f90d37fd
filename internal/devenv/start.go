package devenv

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// stateDirPrefix begins the name of every throw-away state folder; the cluster's program sweeps abandoned ones by it.
const stateDirPrefix = "pharos-devcluster-"

// launch is all that is needed to start the cluster's process, the first time and again.
type launch struct {
	binary       string
	stateDir     string
	throwAway    bool
	noNode       bool
	readyTimeout time.Duration
	output       io.Writer
	// nodePrograms are the programs of a real node by name; without one there are none.
	nodePrograms map[string]string
	// argoCD are the arguments that make the process run Argo CD instead of a cluster.
	argoCD []string
	// owner keeps a throw-away state folder from being swept while no process holds it.
	owner io.Closer
}

// StartError says that the cluster's process, or that of what runs beside it, did not become ready.
type StartError struct {
	// What was to be started, such as "the development cluster".
	What string
	// Err is the cause: how the process ended, or that time ran out.
	Err error
	// Log is the end of what the process logged.
	Log string
}

// Error implements error. It ends with the process' own log lines.
func (e *StartError) Error() string {
	if e.Log == "" {
		return fmt.Sprintf("start %s: %v", e.What, e.Err)
	}
	return fmt.Sprintf("start %s: %v; the end of its log:\n%s", e.What, e.Err, e.Log)
}

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// Start builds the cluster's program where needed (see [Build]), starts it and waits until it is ready: the API server
// answers, the default namespace has its service account, the controllers, the garbage collector and the scheduler
// have done a small piece of work, and the hollow node is Ready.
//
// ctx bounds the start, not the cluster's life: that ends with [Cluster.Stop] or with this process, whichever comes
// first. It returns a *[StartError] with the end of the log when the process does not become ready.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	o = o.withDefaults()
	binary, err := Build(ctx, o.Output)
	if err != nil {
		return nil, err
	}
	l := &launch{binary: binary, stateDir: o.StateDir, noNode: o.NoNode, readyTimeout: o.ReadyTimeout, output: o.Output}
	if l.stateDir == "" {
		l.stateDir, l.throwAway = throwAwayDir(), true
	} else if l.stateDir, err = filepath.Abs(l.stateDir); err != nil {
		return nil, &StartError{What: l.what(), Err: err}
	}
	start := time.Now()
	fmt.Fprintln(o.Output, "starting a development cluster")
	p, err := l.start(ctx)
	if err != nil {
		return nil, err
	}
	if l.throwAway {
		if l.owner, err = own(l.stateDir); err != nil {
			return nil, errors.Join(&StartError{What: l.what(), Err: err}, p.stop(), l.cleanUp())
		}
	}
	config, err := loadConfig(p.ready.Kubeconfig)
	if err != nil {
		return nil, errors.Join(&StartError{What: l.what(), Err: err}, p.stop(), l.cleanUp())
	}
	fmt.Fprintf(o.Output, "the development cluster at %s is ready after %s; its node is hollow: pods do not really run\n",
		p.ready.Server, time.Since(start).Round(100*time.Millisecond))
	return &Cluster{
		config:     config,
		kubeconfig: p.ready.Kubeconfig,
		context:    p.ready.Context,
		launch:     l,
		auditLog:   p.ready.AuditLog,
		process:    p,
	}, nil
}

// throwAwayDir chooses a name only: the process creates the folder and holds it from the first moment, so that another
// one that sweeps cannot take it for abandoned.
func throwAwayDir() string {
	return filepath.Join(os.TempDir(), stateDirPrefix+strings.ToLower(rand.Text()[:12]))
}

// hasNode reports whether the cluster has a real node.
func (l *launch) hasNode() bool { return len(l.nodePrograms) > 0 }

// what is what the process is, for errors.
func (l *launch) what() string {
	if len(l.argoCD) > 0 {
		return "Argo CD"
	}
	return "the development cluster"
}

// cleanUp removes a throw-away state folder. The process has done so itself unless it was killed.
func (l *launch) cleanUp() error {
	if !l.throwAway {
		return nil
	}
	err := os.RemoveAll(l.stateDir)
	if l.owner != nil {
		err = errors.Join(err, l.owner.Close())
	}
	return err
}
