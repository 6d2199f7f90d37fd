package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/pharos-dev/pharos/reaper/sweep"
)

// terminal says whether somebody can be asked there.
func terminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// confirm counts by a dry run what would be deleted, and asks if it is much.
func (o *reapOptions) confirm(ctx context.Context, config sweep.Config) error {
	config.DryRun = true
	config.DeletesPerSecond = -1 // it deletes nothing
	report, err := o.pass(ctx, config, nil)
	if err != nil || report.Counts.WouldDelete <= o.askAbove {
		return err
	}
	return ask(ctx, o.In, o.ErrOut, report)
}

func ask(ctx context.Context, in io.Reader, out io.Writer, report sweep.Report) error {
	for _, r := range report.Resources {
		switch {
		case r.WouldDelete == 0:
		case r.Resource == "namespaces":
			linef(out, "  %s: %d, each with all that is in it", r.Resource, r.WouldDelete)
		default:
			linef(out, "  %s: %d", r.Resource, r.WouldDelete)
		}
	}
	fmt.Fprintf(out, "Delete these %d objects? [y/N] ", report.Counts.WouldDelete)
	answer := make(chan string, 1)
	go func() { // no read of a terminal ends with the context
		line, _ := bufio.NewReader(in).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case said := <-answer:
		if said == "y" || said == "yes" {
			return nil
		}
		return notSo("nothing was deleted: it was not confirmed")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
