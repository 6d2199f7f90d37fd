// Command argocd is what tests run of Argo CD, in one program so that it is compiled and linked once: its repository
// server, its application controller, the helper through which git asks it for passwords, the kustomize that it calls,
// and a redis. Which one it is, the name says by which it was started.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	applicationcontroller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	gitaskpass "github.com/argoproj/argo-cd/v3/cmd/argocd-git-ask-pass/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	"github.com/argoproj/argo-cd/v3/util/log"
	kustomize "sigs.k8s.io/kustomize/kustomize/v5/commands"
)

var commands = map[string]func() *cobra.Command{
	"argocd-application-controller": applicationcontroller.NewCommand,
	"argocd-git-ask-pass":           gitaskpass.NewCommand,
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
	klog.SetLogger(log.NewLogrusLogger(log.NewWithCurrentConfig()))
	if command().Execute() != nil {
		os.Exit(1)
	}
}
