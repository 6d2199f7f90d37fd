// Command devcluster runs a Kubernetes cluster for development and tests in one process: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler and a hollow node, all on loopback addresses.
//
//	devcluster --state DIR
//
// With --node-program NAME=PATH for each program of a real node (kubelet, kube-proxy, coredns, containerd, its shim,
// pause), on Linux as root, the cluster has such a node instead of the hollow one, in namespaces of its own, with a
// registry and a Git server: see the package node. One process of a machine has it at a time, and others wait; while
// one waits it prints a line {"waiting":true}, and {"begun":true} when it goes on. Lines on standard input such as
// "kill-kubelet" are commands to it; each is answered by a line {"command":"kill-kubelet"}, with an "error" where it failed.
//
// With --argocd PROGRAM it runs no cluster, but Argo CD in the cluster of --kubeconfig, and a Git server for it: see the
// package argocd. It takes commands as a node does, such as "stop-controller".
//
// It prints one line of JSON when the cluster is ready, with the API server's address and the paths of a kubeconfig and of
// the audit log, and runs until it is told to end: by SIGINT or SIGTERM, or, with --end-with-stdin, when its standard
// input ends, which it does when the process that holds the other end of the pipe dies. Its state (data, port,
// keys, tokens, logs) stays in DIR for the next start with the same DIR, unless --remove-state is given.
//
// With --end-with-stdin, a line "keep" on standard input ends the process too, and leaves the state even with
// --remove-state: this is how a restart is asked for where there are no signals.
//
// On a hollow node pods do not really run: see the notice on the node that is called hollow-node. What a pod should look like when
// things go wrong can be said by annotations on it: hollow.pharos.dev/waiting (a reason, such as ImagePullBackOff),
// hollow.pharos.dev/exit-code (of a Job's pod) and hollow.pharos.dev/message.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/pharos-dev/pharos/internal/devcluster/internal/argocd"
	"github.com/pharos-dev/pharos/internal/devcluster/internal/controlplane"
	"github.com/pharos-dev/pharos/internal/devcluster/internal/node"
	"github.com/pharos-dev/pharos/internal/devcluster/internal/state"
)

// sweepPrefix begins the names of the state folders that --sweep may remove.
const sweepPrefix = "pharos-devcluster-"

type options struct {
	state        string
	removeState  bool
	endWithStdin bool
	hollowNode   bool
	sweep        bool
	nodePrograms programs
	argocd       argocd.Config
}

// programs are paths by name, given as NAME=PATH.
type programs map[string]string

// String implements flag.Value.
func (p programs) String() string { return "" }

// Set implements flag.Value.
func (p programs) Set(s string) error {
	name, path, ok := strings.Cut(s, "=")
	if !ok || !slices.Contains(node.Programs, name) {
		return fmt.Errorf("want NAME=PATH with one of the names %s", strings.Join(node.Programs, ", "))
	}
	p[name] = path
	return nil
}

func main() {
	if len(os.Args) == 3 {
		switch os.Args[1] {
		case node.InitCommand:
			status, err := node.Init(os.Args[2])
			exitOn(err)
			os.Exit(status)
		case node.RunCommand:
			exitOn(node.Run(context.Background(), os.Args[2], os.Stdin, os.Stdout))
			return
		}
	}
	if len(os.Args) == 4 && os.Args[1] == node.APIServerCommand {
		exitOn(node.APIServer(context.Background(), os.Args[2], os.Args[3]))
		return
	}
	o := options{nodePrograms: programs{}}
	flag.StringVar(&o.state, "state", "", "`folder` for data, keys and logs; made where it is missing (required)")
	flag.BoolVar(&o.removeState, "remove-state", false, "remove the state folder at the end")
	flag.BoolVar(&o.endWithStdin, "end-with-stdin", false, "end when standard input ends, or gives a line \"keep\"")
	flag.BoolVar(&o.hollowNode, "hollow-node", true, "add a node on which pods seem to run")
	flag.BoolVar(&o.sweep, "sweep", false, "first remove the folders beside the state folder that are named "+sweepPrefix+"* and whose process and owner are gone")
	flag.Var(o.nodePrograms, "node-program", "`NAME=PATH` of a program of a real node, to be given for each: "+strings.Join(node.Programs, ", "))
	flag.StringVar(&o.argocd.Program, "argocd", "", "run Argo CD, by the `program` of the module internal/devcluster/argocd, instead of a cluster")
	flag.StringVar(&o.argocd.Manifests, "argocd-manifests", "", "the `folder` manifests of Argo CD's own module (required with --argocd)")
	flag.StringVar(&o.argocd.Kubeconfig, "kubeconfig", "", "the `file` that leads to the cluster for Argo CD (required with --argocd)")
	flag.Parse()
	withArgoCD := o.argocd.Program != ""
	if o.state == "" || flag.NArg() > 0 || withArgoCD != (o.argocd.Manifests != "") || withArgoCD != (o.argocd.Kubeconfig != "") {
		flag.Usage()
		os.Exit(2)
	}
	exitOn(run(o))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "devcluster:", err)
		os.Exit(1)
	}
}

func run(o options) (err error) {
	// Whoever reads our output may be gone before we are.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	folder, err := state.Hold(o.state)
	if err != nil {
		return err
	}
	var keep atomic.Bool
	defer func() {
		if o.removeState && !keep.Load() {
			err = errors.Join(err, folder.Remove())
			return
		}
		err = errors.Join(err, folder.Release())
	}()
	var commands chan string
	if o.argocd.Program != "" || len(o.nodePrograms) > 0 {
		commands = make(chan string)
	}
	if o.endWithStdin {
		var end context.CancelFunc
		ctx, end = context.WithCancel(ctx)
		go func() {
			defer end()
			keep.Store(askedToKeep(ctx, os.Stdin, commands))
		}()
	}

	logFile, err := folder.LogFile("devcluster.log")
	if err != nil {
		return err
	}
	defer logFile.Close()
	if err := debug.SetCrashOutput(logFile, debug.CrashOptions{}); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(logFile, nil))
	sweep := func(dir, prefix string) {
		if o.sweep {
			removed, err := state.Sweep(dir, prefix)
			log.Info("swept the folders of clusters that are gone", "removed", removed, "err", err)
		}
	}
	sweep(filepath.Dir(folder.Path()), sweepPrefix)
	if o.argocd.Program != "" {
		return runArgoCD(ctx, o.argocd, folder, log, commands)
	}
	if len(o.nodePrograms) > 0 {
		return runNode(ctx, o, folder, log, sweep, commands)
	}
	err = controlplane.Run(ctx, controlplane.Config{
		Folder:     folder,
		HollowNode: o.hollowNode,
		Log:        log,
		LogFile:    logFile,
		Ready:      func(server string) { printReady(os.Stdout, folder, server, nil) },
	})
	if err != nil {
		log.Error("the cluster failed", "err", err)
	}
	return err
}

func runNode(ctx context.Context, o options, folder *state.Folder, log *slog.Logger, sweep func(dir, prefix string), commands <-chan string) error {
	err := node.Keep(ctx, node.Config{
		Folder:   folder,
		Programs: o.nodePrograms,
		Log:      log,
		Waiting:  func() { fmt.Println(`{"waiting":true}`) },
		Begun:    func() { fmt.Println(`{"begun":true}`) },
		Swept: func(previous string) {
			if dir, name := filepath.Split(previous); strings.HasPrefix(name, sweepPrefix) {
				sweep(dir, name)
			}
		},
		Ready:    func(r node.Ready) { printReady(os.Stdout, folder, r.Server, &r) },
		Commands: commands,
		// The error of a reader that is gone is noticed where it matters: at standard input.
		Answered: func(a node.Answer) { _ = json.NewEncoder(os.Stdout).Encode(a) },
	})
	if err != nil {
		log.Error("the cluster with a node failed", "err", err)
	}
	return err
}

func runArgoCD(ctx context.Context, c argocd.Config, folder *state.Folder, log *slog.Logger, commands <-chan string) error {
	c.Folder, c.Log, c.Commands = folder, log, commands
	// The error of a reader that is gone is noticed where it matters: at standard input.
	out := json.NewEncoder(os.Stdout)
	c.Ready = func(r argocd.Ready) {
		_ = out.Encode(struct {
			ArgoCD argocd.Ready `json:"argocd"`
		}{r})
	}
	c.Done = func(command argocd.Command, err error) {
		done := struct {
			Command argocd.Command `json:"command"`
			Error   string         `json:"error,omitempty"`
		}{Command: command}
		if err != nil {
			done.Error = err.Error()
		}
		_ = out.Encode(done)
	}
	err := argocd.Run(ctx, c)
	if err != nil {
		log.Error("Argo CD failed", "err", err)
	}
	return err
}

// askedToKeep reads until the input ends or gives the line "keep", and reports whether it did. What else it reads it
// hands on, if somebody takes it.
func askedToKeep(ctx context.Context, r io.Reader, commands chan<- string) bool {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if lines.Text() == "keep" {
			return true
		}
		if commands != nil {
			select {
			case commands <- lines.Text():
			case <-ctx.Done():
			}
		}
	}
	return false
}

func printReady(w io.Writer, folder *state.Folder, server string, n *node.Ready) {
	// The error of a reader that is gone is noticed where it matters: at standard input.
	_ = json.NewEncoder(w).Encode(struct {
		Server     string `json:"server"`
		Kubeconfig string `json:"kubeconfig"`
		Context    string `json:"context"`
		AuditLog   string `json:"auditLog"`

		Node *node.Ready `json:"node,omitempty"`
	}{server, folder.Path(state.Admin.File), state.ContextName, folder.Path(controlplane.AuditLogName), n})
}
