// Command argocd is what tests run of Argo CD, in one program so that it is compiled and linked once: its repository
// server, its application controller, the kustomize that they call, and a redis. Which one it is, the name says by which
// it was started.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	applicationcontroller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	"github.com/argoproj/argo-cd/v3/util/askpass"
	"github.com/argoproj/argo-cd/v3/util/log"
	kustomize "sigs.k8s.io/kustomize/kustomize/v5/commands"
)

var commands = map[string]func() *cobra.Command{
	"argocd-application-controller": applicationcontroller.NewCommand,
	"argocd-repo-server":            reposerver.NewCommand,
	"kustomize":                     kustomize.NewDefaultCommand,
	"redis-server":                  newRedis,
}

func main() {
	name := filepath.Base(os.Args[0])
	command, ok := commands[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "%s: no program of this name\n", name)
		os.Exit(2)
	}
	// It is the same for all on a machine otherwise.
	askpass.SocketPath = filepath.Join(os.TempDir(), "ask-pass.sock")
	klog.SetLogger(log.NewLogrusLogger(log.NewWithCurrentConfig()))
	if command().ExecuteContext(context.Background()) != nil {
		os.Exit(1)
	}
}
