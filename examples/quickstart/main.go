package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// errCleanUp is matched by an error that may have left something behind.
var errCleanUp = errors.New("not all of what the quickstart started could be removed")

// exitInterrupted is what shells report of a program that Ctrl-C ended.
const exitInterrupted = 130

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second Ctrl-C does not wait for anything.
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseFlags(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	err = tell(ctx, o, stdout, stderr)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil && !errors.Is(err, errCleanUp):
		fmt.Fprintln(stderr, "\ninterrupted; what the quickstart started is stopped and removed")
		return exitInterrupted
	}
	fmt.Fprintf(stderr, "\nerror: %v\n", err)
	return 1
}

// options are the flags.
type options struct {
	context      string
	registry     string
	registryPull string
	insecure     bool
	argocd       bool
	takeover     bool
	stay         bool
}

func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.context, "context", "", "use the cluster of this kubeconfig `context` instead of starting one; needs --registry")
	f.StringVar(&o.registry, "registry", "", "the registry, or a folder of one, to push to: `host[:port][/folder]`; only with --context")
	f.StringVar(&o.registryPull, "registry-pull", "", "the same registry as the cluster sees it: `host[:port][/folder]` (default --registry)")
	f.BoolVar(&o.insecure, "registry-insecure", false, "the registry speaks plain HTTP")
	f.BoolVar(&o.argocd, "argocd", false, "deliver through an Argo CD, which is started beside the cluster")
	f.BoolVar(&o.takeover, "takeover", false, "tell how an edit that is not committed takes a workload over, on a real node: needs Linux and root")
	f.BoolVar(&o.stay, "stay", false, "leave everything up at the end until Ctrl-C, to look around in")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	err := o.check(f.Args())
	if err != nil {
		fmt.Fprintf(stderr, "%v\nSee --help.\n", err)
	}
	return o, err
}

func (o options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("there are no arguments, only flags: %q", rest)
	case o.context != "" && o.registry == "":
		return errors.New("--context needs --registry: a registry that this machine pushes to and the cluster pulls from")
	case o.context != "" && o.argocd:
		return errors.New("--argocd starts an Argo CD beside the quickstart's own cluster: leave out --context")
	case o.takeover && (o.context != "" || o.argocd):
		return errors.New("--takeover starts a cluster with a real node: leave out --context and --argocd")
	case o.context == "" && (o.registry != "" || o.registryPull != "" || o.insecure):
		return errors.New("the flags about a registry go with --context: the quickstart's own cluster has its own registry")
	}
	return nil
}

// tell sets the stage, tells the story on it, and takes everything down again.
func tell(ctx context.Context, o options, stdout, stderr io.Writer) (err error) {
	say := &narrator{w: stdout}
	say.opening(o)
	p, err := open(ctx, o, stderr)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := p.close(ctx); cerr != nil {
			err = errors.Join(err, fmt.Errorf("%w: %w", errCleanUp, cerr))
		}
	}()
	say.missing(p)
	s, err := p.newStory(ctx, say)
	if err != nil {
		return err
	}
	chapters := s.chapters()
	if o.takeover {
		chapters = s.takeoverChapters()
	}
	if _, err := s.tell(ctx, chapters); err != nil {
		return err
	}
	say.closing(p, s.shop.Dir(), o)
	if o.stay {
		<-ctx.Done()
	}
	return nil
}
