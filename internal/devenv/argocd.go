package devenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"
)

// ArgoCDOptions say how Argo CD is started.
type ArgoCDOptions struct {
	// Output receives lines of progress, above all of a build that takes minutes. The default discards them.
	Output io.Writer
	// ReadyTimeout bounds how long Argo CD may take to become ready once its program is built. The default is two
	// minutes, for machines that are busy.
	ReadyTimeout time.Duration
}

// ArgoCD is a real Argo CD beside a cluster of this process: its repository server, its application controller and a redis run
// on this machine, and do in the cluster what Applications in [ArgoCD.Namespace] say. Beside it runs a Git server.
//
// It has the settings of its own manifests, and an AppProject "default" that allows everything. The controller looks at
// every Application every 5 s without being asked and heals again after 2 s, without longer and longer pauses. A
// destination of https://kubernetes.default.svc is the cluster. As in a fresh installation, the health of resources is not
// in the status of an Application, nor is a child Application's health part of its parent's. Its API server and the
// ApplicationSet controller do not run. What it asks of the API server is not in the audit log.
//
// Its methods may be called by several goroutines at once.
type ArgoCD struct {
	cluster *Cluster
	launch  *launch
	ready   argoCDReady

	// mu orders commands and Stop.
	mu      sync.Mutex
	process *process
}

// argoCDReady is what the process says when Argo CD is ready.
type argoCDReady struct {
	Namespace string            `json:"namespace"`
	GitURL    string            `json:"gitURL"`
	Logs      map[string]string `json:"logs"`
}

// StartArgoCD builds Argo CD where needed (see [ArgoCDProgram]), creates in the cluster what it wants to find there, starts it, and
// waits until its programs say that they are healthy. A cluster can have one.
//
// ctx bounds the start, not Argo CD's life: that ends with [ArgoCD.Stop] or with this process, whichever comes first. It
// returns [ErrNotStarted] for an existing cluster, which may have an Argo CD of its own, and a *[StartError] with the
// end of the log when Argo CD does not become ready.
func StartArgoCD(ctx context.Context, c *Cluster, o ArgoCDOptions) (*ArgoCD, error) {
	if !c.Started() {
		return nil, fmt.Errorf("start Argo CD: %w", ErrNotStarted)
	}
	options := Options{Output: o.Output, ReadyTimeout: o.ReadyTimeout}.withDefaults()
	binary, err := Build(ctx, options.Output)
	if err != nil {
		return nil, err
	}
	program, err := ArgoCDProgram(ctx, options.Output)
	if err != nil {
		return nil, err
	}
	manifests, err := argoCDManifests(ctx)
	if err != nil {
		return nil, err
	}
	l := &launch{
		binary:       binary,
		stateDir:     throwAwayDir(),
		throwAway:    true,
		readyTimeout: options.ReadyTimeout,
		output:       options.Output,
		argoCD: []string{
			"--argocd", program, "--argocd-manifests", manifests,
			"--kubeconfig", filepath.Join(c.StateDir(), "argocd.kubeconfig"),
		},
	}
	start := time.Now()
	fmt.Fprintln(options.Output, "starting Argo CD")
	p, err := l.start(ctx)
	if err != nil {
		return nil, err
	}
	if p.ready.ArgoCD == nil {
		err := &StartError{What: l.what(), Err: errors.New("it does not say where it is")}
		return nil, errors.Join(err, p.stop(), l.cleanUp())
	}
	fmt.Fprintf(options.Output, "Argo CD is ready after %s\n", time.Since(start).Round(100*time.Millisecond))
	return &ArgoCD{cluster: c, launch: l, ready: *p.ready.ArgoCD, process: p}, nil
}

// Cluster is the cluster beside which it runs.
func (a *ArgoCD) Cluster() *Cluster { return a.cluster }

// Namespace is the namespace of its settings, AppProjects and Applications.
func (a *ArgoCD) Namespace() string { return a.ready.Namespace }

// GitURL is the address of a Git server on this machine's loopback, such as "http://127.0.0.1:23456": smart HTTP without
// authentication, and with git's defaults. Every path below it that ends in ".git" is a repository, which the first push to
// it makes. Argo CD and this process reach it at the same address. Beside a cluster with a real node there is also that
// node's own one: Argo CD reaches it at [Node.GitPush], pods at [Node.GitURL].
func (a *ArgoCD) GitURL() string { return a.ready.GitURL }

// Logs are the paths of the logs of its programs: "argocd-application-controller", "argocd-repo-server" and
// "redis-server". They are in [ArgoCD.StateDir].
func (a *ArgoCD) Logs() map[string]string { return a.ready.Logs }

// StateDir is the folder with its repositories, caches and logs, which is removed at its end.
func (a *ArgoCD) StateDir() string { return a.launch.stateDir }

// PID is the ID of the process that keeps its programs; zero after [ArgoCD.Stop].
func (a *ArgoCD) PID() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.process == nil {
		return 0
	}
	return a.process.cmd.Process.Pid
}

// StopController ends the application controller as Kubernetes would (SIGTERM, and SIGKILL if it takes longer than 10 s), and
// waits until it is gone. Nothing is done to an Application until [ArgoCD.StartController]. Its errors, as those of the
// other methods about the controller, are that Argo CD has ended, that the controller is not in a state for this, and
// ctx's.
func (a *ArgoCD) StopController(ctx context.Context) error { return a.command(ctx, "stop-controller") }

// StartController starts the application controller again and waits until it is healthy.
func (a *ArgoCD) StartController(ctx context.Context) error {
	return a.command(ctx, "start-controller")
}

// PauseController stops the application controller in the middle of whatever it does (SIGSTOP), until
// [ArgoCD.ResumeController].
func (a *ArgoCD) PauseController(ctx context.Context) error {
	return a.command(ctx, "pause-controller")
}

// ResumeController lets a paused application controller go on.
func (a *ArgoCD) ResumeController(ctx context.Context) error {
	return a.command(ctx, "resume-controller")
}

// command has the process obey and waits for its answer.
func (a *ArgoCD) command(ctx context.Context, command string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.process == nil {
		return fmt.Errorf("%s: %w", command, ErrStopped)
	}
	return a.process.command(ctx, a.launch, command)
}

// Stop ends Argo CD and the Git server and waits until they are gone, and with them their state. What they have made in the
// cluster stays. Further calls do nothing.
func (a *ArgoCD) Stop() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.process == nil {
		return nil
	}
	err := a.process.stop()
	a.process = nil
	return errors.Join(err, a.launch.cleanUp())
}
