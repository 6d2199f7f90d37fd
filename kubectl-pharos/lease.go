package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/lease"
)

func newLease(s *shared) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lease",
		Short: "See, take or give back the target's lease",
		Long: `See, take or give back the target's lease.

One lease says who may write to a target. A delivery holds it for seconds, in mode
deliver. Whoever holds it in mode borrow or maintain keeps deliveries away until it
is released or ends by itself.`,
		Example: `  kubectl pharos lease show

  # Keep deliveries away for half an hour
  kubectl pharos lease acquire --for 30m --purpose "debugging the checkout"`,
	}
	cmd.AddCommand(newLeaseShow(s), newLeaseAcquire(s), newLeaseRelease(s))
	return group(cmd)
}

type leaseFields struct {
	Held     bool       `json:"held"`
	Mode     lease.Mode `json:"mode,omitempty"`
	Holder   string     `json:"holder,omitempty"`
	User     string     `json:"user,omitempty"`
	Purpose  string     `json:"purpose,omitempty"`
	Covers   []string   `json:"covers,omitempty"`
	Acquired *time.Time `json:"acquired,omitempty"`
	Renewed  *time.Time `json:"renewed,omitempty"`
	Expires  *time.Time `json:"expires,omitempty"`
	Token    int64      `json:"token"`
}

func leaseOf(s lease.State) leaseFields {
	f := leaseFields{Held: s.Held, Token: s.Token}
	if !s.Held {
		return f
	}
	set := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		t = t.UTC()
		return &t
	}
	f.Mode, f.Holder, f.User, f.Purpose, f.Covers = s.Mode, s.Holder, s.User, s.Purpose, s.Covers
	f.Acquired, f.Renewed, f.Expires = set(s.Acquired), set(s.Renewed), set(s.Expires)
	return f
}

func (s *shared) printLease(out *output, target string, st lease.State) error {
	if out.human() {
		linef(s.Out, "%s: %s", target, leaseLine(st))
		return nil
	}
	obj, err := newObject("Lease", target, leaseOf(st))
	if err != nil {
		return err
	}
	return out.print(s.Out, obj)
}
