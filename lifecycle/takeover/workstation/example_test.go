package workstation_test

import (
	"context"
	"fmt"
	"os"

	"github.com/google/go-containerregistry/pkg/authn"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/catalogue/source/worktree"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/workstation"
)

// takeOver takes over what the working tree around a folder changes, until something
// calls Session.HandBack, or ctx ends, which leaves the session for the next Run.
func takeOver(ctx context.Context, dir, kubeconfig string) error {
	repo, err := source.Open(dir)
	if err != nil {
		return err
	}
	tree, err := worktree.Snapshot(ctx, worktree.Config{Repository: repo})
	if err != nil {
		return err
	}
	targets, err := standard.ReadTargets(ctx, tree)
	if err != nil {
		return err
	}
	target, err := standard.SelectTarget(targets, "devbox")
	if err != nil {
		return err
	}
	rest, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config, err := workstation.Takeover(workstation.TakeoverConfig{
		Target:     target,
		Options:    standard.Options{REST: rest, Actor: "ann@desk", Keychain: authn.DefaultKeychain, Env: os.Environ()},
		Repository: repo,
	})
	if err != nil {
		return err
	}
	config.Events = func(e takeover.Event) { fmt.Println(e.Type, e.Workload, e.Reason) }
	session, err := takeover.New(config)
	if err != nil {
		return err
	}
	plan, err := session.Try(ctx)
	if err != nil {
		return err
	}
	if err := plan.Err(); err != nil {
		return err // takeover.ErrUnchanged, or a *takeover.RefusedError with all that stands in the way
	}
	return session.Run(ctx)
}

func ExampleTakeover() {
	fmt.Println(takeOver(context.Background(), ".", os.ExpandEnv("$HOME/.kube/config")))
}

func ExampleInherited() {
	fmt.Println(workstation.Inherited([]string{"PATH=/usr/bin", "AWS_SECRET_ACCESS_KEY=x", "HOME=/home/ann"}))
	// Output:
	// [PATH=/usr/bin HOME=/home/ann]
}
