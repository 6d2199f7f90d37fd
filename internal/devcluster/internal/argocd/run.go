package argocd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"path/filepath"

	"github.com/pharos-dev/pharos/internal/devcluster/internal/gitserver"
	"github.com/pharos-dev/pharos/internal/devcluster/internal/state"
)

// Namespace is the namespace in which Argo CD looks for its settings, projects and Applications.
const Namespace = "argocd"

// Config says what runs.
type Config struct {
	// Folder holds the state: repositories, caches and logs.
	Folder *state.Folder
	// Program is the path of the program of internal/devcluster/argocd.
	Program string
	// Manifests is the folder "manifests" of Argo CD's own module.
	Manifests string
	// Kubeconfig is the path of the cluster's kubeconfig, whose user may do everything.
	Kubeconfig string
	Log        *slog.Logger
	// Ready is called once, when Argo CD works.
	Ready func(Ready)
	// Commands are what to do with the application controller, once all is ready.
	Commands <-chan string
	// Done is called when a command was carried out, or could not be.
	Done func(Command, error)
}

// Ready says where things are.
type Ready struct {
	// Namespace is Argo CD's own namespace.
	Namespace string `json:"namespace"`
	// GitURL is the Git server's address, such as "http://127.0.0.1:23456".
	GitURL string `json:"gitURL"`
	// Logs are the paths of the logs by the program's name.
	Logs map[string]string `json:"logs"`
}

// Command is what can be asked for.
type Command string

// The commands concern the application controller. Stop and Start end and start its process, Pause and Resume keep the
// process from running and let it go on.
const (
	Stop   Command = "stop-controller"
	Start  Command = "start-controller"
	Pause  Command = "pause-controller"
	Resume Command = "resume-controller"
)

// Run runs Argo CD until ctx ends or a part of it fails; nil is returned only in the first case. When it returns, its
// programs have ended.
func Run(ctx context.Context, c Config) error {
	err := c.run(ctx)
	if ctx.Err() != nil {
		// Asked to end.
		return nil
	}
	return err
}

func (c Config) run(ctx context.Context) error {
	in, err := newInstallation(c.Kubeconfig, c.Manifests)
	if err != nil {
		return fmt.Errorf("prepare the cluster for Argo CD: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := in.create(ctx, in.first); err != nil {
		return fmt.Errorf("prepare the cluster for Argo CD: %w", err)
	}
	c.Log.Info("the cluster has what Argo CD starts with")
	later := make(chan error, 1)
	go func() { later <- in.create(ctx, in.later) }()
	gitURL, err := c.serveGit()
	if err != nil {
		return err
	}
	p, err := c.newPrograms()
	if err != nil {
		return err
	}
	defer p.stopAll()
	for _, name := range []string{redis, repoServer, controller} {
		if err := p.start(ctx, name); err != nil {
			return err
		}
		c.Log.Info("ready", "program", name)
	}
	if err := <-later; err != nil {
		return fmt.Errorf("prepare the cluster for Argo CD: %w", err)
	}
	c.Log.Info("the cluster has all of it")
	c.Ready(Ready{Namespace: Namespace, GitURL: gitURL, Logs: p.logs()})
	for {
		select {
		case err := <-p.failed:
			return err
		case line := <-c.Commands:
			command := Command(line)
			c.Done(command, p.obey(ctx, command))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// serveGit starts the Git server, which ends with the process.
func (c Config) serveGit() (url string, err error) {
	git, err := gitserver.New(c.Folder.Path("git"))
	if err != nil {
		return "", err
	}
	l, err := c.Folder.Listen()
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: git, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = server.Serve(l) }()
	return "http://" + l.Addr().String(), nil
}

func (p *programs) obey(ctx context.Context, command Command) error {
	switch command {
	case Stop:
		return p.stop(controller)
	case Start:
		return p.start(ctx, controller)
	case Pause:
		return p.pause(controller)
	case Resume:
		return p.resume(controller)
	default:
		return errors.New("there is no such command")
	}
}

// logs are the paths of the programs' logs by name.
func (p *programs) logs() map[string]string {
	paths := map[string]string{}
	for name := range p.args {
		paths[name] = filepath.Clean(p.folder.Path(name + ".log"))
	}
	return paths
}
