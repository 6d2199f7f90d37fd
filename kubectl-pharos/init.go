package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/detect"
	"github.com/pharos-dev/pharos/catalogue/gopackage"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/atomicfile"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

type initOptions struct {
	*shared
	output   *output
	names    map[string]string
	registry string
	overlay  string
	dryRun   bool
}

func newInit(s *shared) *cobra.Command {
	o := &initOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a first pharos.yaml from what the repository holds",
		Long: `Write a first pharos.yaml from what the repository holds.

Dockerfiles and Go programs become images, with the files that they really read as
inputs; kustomizations that no other one uses become targets and give the images
their names. Node and Python projects that no image is built of are named. Every
guess has a comment that says where it comes from. What the flags say wins over
what manifests say, which wins over guesses from the names of folders and files.

What no build can do yet is said: Dockerfiles need a BuildKit, which the target
names. A registry that nothing names is registry.invalid: write yours.

The working tree is read as git add -A would commit it; there need be no commit
yet. A pharos.yaml that is there is never overwritten. Go programs are looked at
with the go command; no cluster and no registry is asked.`,
		Example: `  # Write pharos.yaml, and say what it is made of
  kubectl pharos init

  # Only show it
  kubectl pharos init --dry-run

  # Say what cannot be found in the repository
  kubectl pharos init --name ./cmd/server=api --registry registry.example.com/shop --overlay deploy/overlays/dev --context kind-dev`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.output = newOutput(cmd)
	f := cmd.Flags()
	f.StringToStringVar(&o.names, "name", nil, "The names of images, as FOLDER=NAME or DOCKERFILE=NAME")
	f.StringVar(&o.registry, "registry", "", "Where images are pushed to: a registry's host, or a folder of one")
	f.StringVar(&o.overlay, "overlay", "", "The folder of the kustomization to deliver")
	f.StringVar(&o.target, "target", "", "The name of the target. The default is made of the repository's and the overlay's")
	f.StringVar(o.config.Context, "context", "", "The kubeconfig's context that the target is to name. The default is none: then the current one counts")
	f.BoolVar(&o.dryRun, "dry-run", false, "Print the file instead of writing it")
	_ = cmd.RegisterFlagCompletionFunc("name", cobra.NoFileCompletions)
	_ = cmd.RegisterFlagCompletionFunc("registry", cobra.NoFileCompletions)
	_ = cmd.RegisterFlagCompletionFunc("target", cobra.NoFileCompletions)
	_ = cmd.MarkFlagDirname("overlay")
	return cmd
}

func (o *initOptions) run(ctx context.Context) error {
	if err := usage(o.output.check()); err != nil {
		return err
	}
	repo, err := source.Open(o.repo)
	if err != nil {
		return err
	}
	file := filepath.Join(repo.Root(), catalogue.FileName)
	if o.writes() {
		if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
			return o.notWritten(file, errors.Join(err, fs.ErrExist))
		}
	}
	found, err := o.detect(ctx, repo)
	if err != nil {
		return err
	}
	if o.writes() {
		if err := atomicfile.Create(file, found.YAML); err != nil {
			return o.notWritten(file, err)
		}
	}
	return o.print(file, found)
}

// writes says that the file is written, not printed.
func (o *initOptions) writes() bool { return !o.dryRun && o.output.human() }

func (o *initOptions) notWritten(file string, err error) error {
	e := &lifecycle.Error{Op: "write", On: file, Class: lifecycle.ErrSource, Err: err}
	if errors.Is(err, fs.ErrExist) {
		e.Err = errors.New("it is there already")
		e.Advice = "It is never overwritten: see with --dry-run what would be written, or remove it."
	}
	return e
}

func (o *initOptions) detect(ctx context.Context, repo *source.Repository) (*detect.Result, error) {
	tree, err := o.workingTree(ctx)
	if err != nil {
		return nil, err
	}
	found, err := detect.Detect(ctx, tree, detect.Options{
		Repository: filepath.Base(repo.Root()), Names: o.names, Registry: o.registry,
		Target: o.target, Context: *o.config.Context, Overlay: o.overlay,
		Go: gopackage.Config{Env: os.Environ()},
	})
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, detect.ErrOption):
		return nil, err
	case err != nil:
		return nil, &lifecycle.Error{Op: "look through", On: repo.Root(), Class: lifecycle.ErrSource, Err: err}
	}
	// A flag may have put something there that is refused.
	if _, err := standard.ParseTargets(catalogue.FileName, found.YAML); err != nil {
		return nil, usage(fmt.Errorf("what the flags say cannot be written: %w", err))
	}
	return found, nil
}
