package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1)
	}
}

// groups are the cases by what they need to be set up.
var groups = []struct {
	name string
	set  func(context.Context, *bench) ([]comparison, error)
}{
	{"noop", noop},
	{"apply", applies},
	{"render", renders},
	{"build", builds},
	{"dockerfile", dockerfiles},
	{"fingerprint", fingerprints},
	{"worktree", workTrees},
	{"reap", reaps},
	{"inventory", inventories},
	{"takeover", takeovers},
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	if len(args) > 0 && args[0] == childFlag {
		return child(ctx, args[1:], stdout)
	}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	pattern := f.String("run", "", "run the groups of cases (noop, apply, render, build, dockerfile, fingerprint, worktree, reap, inventory, takeover) whose name matches this regular `expression`")
	rounds := f.Int("n", 10, "how often each side of a case is run; a cold build at most 3 times")
	var size repoSize
	f.IntVar(&size.files, "files", 5000, "the files of the repositories that are made to be fingerprinted or edited")
	f.IntVar(&size.images, "images", 30, "the images of such a repository")
	f.IntVar(&size.commits, "commits", 1000, "the commits of such a repository; another one has ten times as many")
	repository := f.String("repository", "", "fingerprint the images of this repository instead, by its `folder`, and edit a clone of it")
	if err := f.Parse(args); err != nil {
		return err
	}
	match, err := regexp.Compile(*pattern)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	if *rounds < 1 || f.NArg() > 0 {
		return errors.New("want -n of at least 1, and no arguments")
	}
	if size.images < 1 || size.commits < 1 || size.files < 10*size.images {
		return errors.New("want -images and -commits of at least 1, and at least 10 -files for each image")
	}

	b, err := newBench(ctx, *rounds, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	b.size, b.repository = size, *repository
	var results []result
	for _, g := range groups {
		if !match.MatchString(g.name) {
			continue
		}
		cases, err := g.set(ctx, b)
		if err != nil {
			return fmt.Errorf("set up %s: %w", g.name, err)
		}
		for _, c := range cases {
			r, err := b.measure(ctx, c)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			results = append(results, r)
		}
	}
	return printTable(stdout, results)
}
