package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/reaper"
)

func newExtend(s *shared) *cobra.Command {
	var d duration
	o := &changeOptions{shared: s, done: "extended", do: func(ctx context.Context, c *reaper.Client, r reaper.Ref, how reaper.Change) (reaper.Object, error) {
		return c.Extend(ctx, r, time.Duration(d), how)
	}}
	cmd := &cobra.Command{
		Use:   "extend KIND/NAME... --for DURATION",
		Short: "Keep something transient for a while longer",
		Long: `Keep something transient for a while longer: it does not end before that time from now
is over, by the API server's clock.

It counts as activity. A TTL that is shorter becomes as long, and an expiry that is
earlier is moved; no end is ever moved closer. Durations are those of the TTL, such as
90s, 36h, 7d, 2w or 1d12h.`,
		Example: `  kubectl pharos extend namespace/preview-42 --for 36h

  # When would it end then?
  kubectl pharos extend ns/preview-42 --for 2w --dry-run`,
	}
	o.flags(cmd)
	cmd.Flags().Var(&d, "for", "How long from now it is there at least, such as 36h or 7d. Required")
	_ = cmd.MarkFlagRequired("for")
	return cmd
}

// duration is a flag in the grammar of intents.
type duration time.Duration

// String implements pflag.Value.
func (d *duration) String() string {
	if *d == 0 {
		return ""
	}
	return reaper.FormatDuration(time.Duration(*d))
}

// Set implements pflag.Value.
func (d *duration) Set(s string) error {
	parsed, err := reaper.ParseDuration(s)
	if why, ok := errors.AsType[*reaper.DurationError](err); ok {
		return errors.New(why.Why) // behind the flag and its value
	}
	*d = duration(parsed)
	return err
}

// Type implements pflag.Value.
func (d *duration) Type() string { return "duration" }
