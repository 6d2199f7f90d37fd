package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/lease"
)

func newLease(s *shared) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lease",
		Short: "Borrow the target, see who has it, and hand it back",
		Long: `Borrow the target, see who has it, and hand it back.

One lease says who may write to a target. A delivery holds it for seconds, in mode
deliver. Whoever holds it in mode borrow or maintain keeps deliveries away. In mode
borrow, where Argo CD delivers, it also keeps that from syncing the Applications that
the lease covers, and from healing them, until it is released or ends by itself: then
what was changed there goes back to what was delivered.`,
		Example: `  kubectl pharos lease show

  # Borrow all of the target for two hours, and hand it back
  kubectl pharos lease acquire --for 2h --purpose "debugging the checkout"
  kubectl pharos lease release

  # Borrow one Application for as long as a command runs
  kubectl pharos lease acquire shop-api --purpose "load test" --exec -- ./load-test.sh`,
	}
	cmd.AddCommand(newLeaseShow(s), newLeaseAcquire(s), newLeaseRenew(s), newLeaseRelease(s), newLeaseBreak(s))
	return group(cmd)
}

type leaseFields struct {
	Held     bool          `json:"held"`
	Over     bool          `json:"over,omitempty"` // it ran out or was broken, and is free in a few seconds
	Mode     lease.Mode    `json:"mode,omitempty"`
	Holder   string        `json:"holder,omitempty"`
	User     string        `json:"user,omitempty"`
	Purpose  string        `json:"purpose,omitempty"`
	Covers   []string      `json:"covers,omitempty"`
	Acquired *time.Time    `json:"acquired,omitempty"`
	Renewed  *time.Time    `json:"renewed,omitempty"`
	Expires  *time.Time    `json:"expires,omitempty"`
	Seconds  float64       `json:"secondsLeft,omitempty"` // until Expires
	Token    int64         `json:"token"`
	Broken   *brokenFields `json:"broken,omitempty"`
	gateFields
}

// brokenFields say who broke the lease last.
type brokenFields struct {
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
	Holder string    `json:"holder"`
	User   string    `json:"user,omitempty"`
	Token  int64     `json:"token"`
}

// gateFields say what keeps Argo CD away.
type gateFields struct {
	Gate    []lease.Closed `json:"gate,omitempty"`
	Exposed []string       `json:"exposed,omitempty"` // covered, and nothing keeps it away
	Unknown string         `json:"gateUnknown,omitempty"`
}

func leaseOf(s lease.State) leaseFields {
	f := leaseFields{Held: s.Held, Token: s.Token, Broken: (*brokenFields)(s.Broken)}
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
	f.Seconds = max(0, left(s).Seconds())
	f.Over = s.WasBroken() || !s.Expires.IsZero() && left(s) <= 0
	return f
}

// leaseAndGate adds what is known of the gate.
func leaseAndGate(s lease.State, gate []lease.Closed, err error) leaseFields {
	f := leaseOf(s)
	if f.Gate = gate; err != nil {
		f.Unknown = message(err)
	} else {
		f.Exposed = s.Exposed(gate)
	}
	return f
}

// left is how long a lease still lasts.
func left(s lease.State) time.Duration {
	if s.Expires.IsZero() {
		return 0
	}
	return s.Expires.Sub(s.Now)
}

// leaseLine says who holds a lease, in one line.
func leaseLine(s lease.State) string {
	if !s.Held {
		return "free"
	}
	who := s.Who()
	line := string(s.Mode) + ", held by " + who
	if s.Mode == "" {
		line = "held by " + who
	}
	switch {
	case s.WasBroken():
		return fmt.Sprintf("%s until %s; it is free in a few seconds", line, s.Broken)
	case s.Expires.IsZero():
	case left(s) > 0:
		line += fmt.Sprintf(" until %s (%s left)", s.Expires.UTC().Format(time.RFC3339), left(s))
	default:
		line += fmt.Sprintf(" until %s, which is over: it is free in a few seconds", s.Expires.UTC().Format(time.RFC3339))
	}
	if s.Purpose != "" {
		line += ": " + s.Purpose
	}
	return line
}

// leaseDetails are what else there is to say of a lease and its gate, one line each.
func leaseDetails(s lease.State, gate []lease.Closed, unknown error) (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if s.Held && len(s.Covers) > 0 {
		say("covers %s", strings.Join(s.Covers, ", "))
	}
	if exposed := s.Exposed(gate); unknown == nil && len(exposed) > 0 && left(s) > 0 { // else it is to be open
		say("EXPOSED: somebody opened or changed its gate, and nothing keeps Argo CD from %s", strings.Join(exposed, ", "))
	}
	if unknown != nil && s.Held && s.Mode == lease.ModeBorrow {
		say("whether its gate stands is not known: %v", unknown)
	}
	for _, c := range gate {
		changed := ""
		if len(c.Wrong) > 0 {
			changed = "; it was changed: " + strings.Join(c.Wrong, "; ")
		}
		until, what := c.Until.UTC().Format(time.RFC3339), cmp.Or(strings.Join(c.Covers, ", "), "nothing")
		switch {
		case c.LeftOver && c.Opened:
			say("left over of an earlier lease: %s, which was opened at %s, and is not done with %s", c.Name, until, what)
		case c.LeftOver:
			say("left over of an earlier lease: %s is closed for %s until %s%s; whatever runs next opens it", c.Name, what, until, changed)
		case c.Opened:
			say("%s was opened for %s at %s", c.Name, what, until)
		default:
			say("%s is closed for %s until %s%s", c.Name, what, until, changed)
		}
	}
	return lines
}

// brokenLine says who broke the lease last, whose it was, and why; empty if nobody
// did.
func brokenLine(s lease.State) string {
	if s.Broken == nil {
		return ""
	}
	return fmt.Sprintf("the lease of %s was broken by %s at %s: %s", cmp.Or(s.Broken.User, s.Broken.Holder), s.Broken.By, s.Broken.At.Format(time.RFC3339), s.Broken.Reason)
}

// leaseAnswer is what a command that changes a lease prints for programs.
type leaseAnswer struct {
	leaseFields
	DryRun  bool            `json:"dryRun,omitempty"`
	Opened  []string        `json:"opened,omitempty"`
	Pending []lease.Pending `json:"pending,omitempty"` // not as it is declared
	Others  []string        `json:"others,omitempty"`  // what keeps it from that
	Wrong   []string        `json:"wrong,omitempty"`   // why the target has not come back
	// Takeover is the one whose lease was broken: its workloads are still diverted.
	Takeover *takeoverFields `json:"takeover,omitempty"`
	failure
}

func (a *leaseAnswer) report(r lease.Report) {
	a.Opened, a.Pending, a.Others = r.Opened, r.Pending, r.Others
}

// printAnswer writes what became of it: for a person the line, for a program an
// answer after a failure too.
func (s *shared) printAnswer(ctx context.Context, out *output, target string, a leaseAnswer, line string, err error) error {
	if out.human() {
		if err == nil {
			linef(s.Out, "%s: %s", target, line)
		}
		return nil
	}
	a.failure = failureOf(ctx, err)
	obj, err := newObject("Lease", target, a)
	if err != nil {
		return err
	}
	return out.print(s.Out, obj)
}
