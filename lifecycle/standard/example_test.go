package standard_test

import (
	"context"
	"fmt"
	"os"

	"github.com/google/go-containerregistry/pkg/authn"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// reconcileHead delivers the last commit of the repository around a folder.
func reconcileHead(ctx context.Context, dir, kubeconfig string) error {
	repo, err := source.Open(dir)
	if err != nil {
		return err
	}
	commit, err := repo.Commit(ctx, "HEAD")
	if err != nil {
		return err
	}
	targets, err := standard.ReadTargets(ctx, commit.Tree)
	if err != nil {
		return err
	}
	target, err := standard.SelectTarget(targets, "devbox")
	if err != nil {
		return err
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	l, err := standard.New(target, standard.Options{REST: cfg, Actor: "deploy-bot", Keychain: authn.DefaultKeychain, Env: os.Environ()})
	if err != nil {
		return err
	}
	res, err := l.Reconcile(ctx, lifecycle.ReconcileRequest{Commit: commit, Repository: repo})
	fmt.Println(res.Plan.Decision, res.Receipt)
	return err
}

func ExampleNew() {
	fmt.Println(reconcileHead(context.Background(), ".", os.ExpandEnv("$HOME/.kube/config")))
}

func ExampleReadTargets() {
	tree, err := source.FromFiles(map[string]source.File{"pharos.yaml": {Content: `
apiVersion: pharos.dev/v1alpha1
kind: Catalogue
images: []
---
apiVersion: pharos.dev/v1alpha1
kind: Target
metadata: {name: devbox}
spec:
  registry: {push: "localhost:5000/dev", insecure: true}
  overlay: gitops/overlays/devbox
`}})
	if err != nil {
		fmt.Println(err)
		return
	}
	targets, err := standard.ReadTargets(context.Background(), tree)
	if err != nil {
		fmt.Println(err)
		return
	}
	target, err := standard.SelectTarget(targets, "")
	fmt.Println(target.Name, target.Namespace, target.Registry.Pull, err)
	// Output: devbox pharos localhost:5000/dev <nil>
}
