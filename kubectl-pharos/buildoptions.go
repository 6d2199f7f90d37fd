package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// buildOptions are the flags of a command that may build images.
type buildOptions struct {
	cancel  bool
	verbose bool
	flags   buildFlags
	opts    standard.Options // by the flags
}

func (o *buildOptions) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.cancel, "cancel-builds", false, "When an image cannot be built, end the other builds at once, instead of letting those finish that have begun")
	f.BoolVar(&o.verbose, "build-output", false, "Show what the build tools print")
	o.flags.add(cmd)
}

// check refuses flags that could be meant in more than one way, before any work
// is done for them.
func (o *buildOptions) check() error { return usage(o.flags.into(&o.opts)) }

// given fills in what the flags say.
func (o *buildOptions) given(so *standard.Options) {
	so.Secrets, so.SSH, so.BuildKitTLS, so.Jobs = o.opts.Secrets, o.opts.SSH, o.opts.BuildKitTLS, o.opts.Jobs
}

// warnUnheeded warns of flags that no build of the commit heeds.
func (o *buildOptions) warnUnheeded(ctx context.Context, w io.Writer, commit source.Commit) error {
	if len(o.opts.Secrets)+len(o.opts.SSH) == 0 {
		return nil
	}
	c, err := catalogueOf(ctx, commit.Tree)
	if err != nil {
		return err
	}
	for _, warning := range unheeded(o.opts, c.Images) {
		linef(w, "warning: %s", warning)
	}
	return nil
}
