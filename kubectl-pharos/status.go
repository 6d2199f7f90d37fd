package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/lifecycle/takeover/workstation"
	"github.com/pharos-dev/pharos/receipt"
)

type statusOptions struct {
	*shared
	output *output
}

func newStatus(s *shared) *cobra.Command {
	o := &statusOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what is on the target, and whether it is as it should be",
		Long: `Show what is on the target, and whether it is as it should be.

The exit code is 1 unless the target is healthy, undrifted, and at the receipt
that was applied last, whichever commit that is: what HEAD has beyond it is said,
and is no fault of the target. What a takeover has changed is shown as that, and is no
drift as long as the takeover has the lease; what else was changed is.`,
		Example: `  kubectl pharos status

  # Only the commit that is live
  kubectl pharos status -o jsonpath='{.live.commit}'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.output = newOutput(cmd)
	return cmd
}

func (o *statusOptions) run(ctx context.Context) error {
	if err := usage(o.output.check()); err != nil {
		return err
	}
	repo, t, so, err := o.open(ctx)
	if err != nil {
		return err
	}
	l, err := standard.New(t, so)
	if err != nil {
		return err
	}
	l.Deliverer = pastTakeover{l.Deliverer, t, so, l.Lease}
	st, err := l.Status(ctx)
	if err != nil {
		return err
	}
	head, err := headOf(ctx, repo, st)
	if err != nil {
		return err
	}
	taken, left := takeoverOn(ctx, t, so, st.Lease), leftHere(ctx, workstation.Folder(repo), o.onTarget)
	if err := o.print(st, head, o.parked(ctx, so, st), taken, left); err != nil {
		return err
	}
	if !st.IsLive() {
		return errNotSo
	}
	return nil
}

type statusFields struct {
	ClusterUID   string                   `json:"clusterUID"`
	IsLive       bool                     `json:"isLive"`
	Head         headFields               `json:"head"`
	Applied      *receiptFields           `json:"applied,omitempty"`
	Live         *receiptFields           `json:"live,omitempty"`
	Last         *receipt.Outcome         `json:"lastOutcome,omitempty"`
	Unreadable   []unreadableFields       `json:"unreadable,omitempty"`
	Lease        leaseFields              `json:"lease"`
	Takeover     *takeoverFields          `json:"takeover,omitempty"`
	Interrupted  *leftFields              `json:"interrupted,omitempty"`
	Objects      int                      `json:"objects"`
	Unready      []lifecycle.ObjectStatus `json:"unready,omitempty"`
	Drifted      []lifecycle.ObjectStatus `json:"drifted,omitempty"`
	Orphans      []receipt.Object         `json:"orphans,omitempty"`
	Parked       parkedFields             `json:"parked,omitzero"`
	Applications []receipt.Application    `json:"applications,omitempty"`
	Failure      *failureFields           `json:"lastFailure,omitempty"`
}

type receiptFields struct {
	Receipt    receipt.ID `json:"receipt"`
	Commit     string     `json:"commit"`
	RollbackOf receipt.ID `json:"rollbackOf,omitempty"`
	Created    *time.Time `json:"created,omitempty"`
}

type failureFields struct {
	Receipt receipt.ID `json:"receipt"`
	Commit  string     `json:"commit"`
	Time    time.Time  `json:"time"`
	Reason  string     `json:"reason"`
}

type unreadableFields struct {
	What  string `json:"what"`
	Error string `json:"error"`
}

func receiptOf(r *lifecycle.ReceiptStatus) *receiptFields {
	if r == nil {
		return nil
	}
	f := &receiptFields{Receipt: r.ID, Commit: r.Record.Commit, RollbackOf: r.Record.RollbackOf}
	if !r.Created.IsZero() {
		f.Created = &r.Created
	}
	return f
}

func (o *statusOptions) print(st lifecycle.Status, head headFields, parked parkedFields, taken *takeoverFields, left *leftFields) error {
	if o.output.human() {
		o.printHuman(st, head, parked, taken)
		return nil
	}
	fields := statusFields{
		ClusterUID: st.ClusterUID, IsLive: st.IsLive(), Head: head, Applied: receiptOf(st.Applied), Live: receiptOf(st.Live), Last: st.Last,
		Lease: leaseAndGate(st.Lease, st.Gate, st.GateErr), Unready: st.Observation.Unready, Drifted: st.Observation.Drifted, Orphans: st.Observation.Orphans,
		Parked: parked, Takeover: taken, Interrupted: left, Applications: st.Observation.Applications,
	}
	if f := st.Failure; f != nil {
		fields.Failure = &failureFields{Receipt: f.ID, Commit: f.Commit, Time: f.Result.Time, Reason: f.Result.Reason}
	}
	if st.Applied != nil {
		fields.Objects = len(st.Applied.Record.Objects)
	}
	if fields.Last != nil {
		last := *fields.Last
		last = last.Summary() // a hash for each object helps nobody here
		fields.Last = &last
	}
	for _, u := range st.Unreadable {
		fields.Unreadable = append(fields.Unreadable, unreadableFields{u.What, u.Err.Error()})
	}
	obj, err := newObject("Status", st.Target, fields)
	if err != nil {
		return err
	}
	return o.output.print(o.Out, obj)
}

func (o *statusOptions) printHuman(st lifecycle.Status, head headFields, parked parkedFields, taken *takeoverFields) {
	w := o.Out
	linef(w, "Target:   %s (cluster %s)", st.Target, st.ClusterUID)
	for _, u := range st.Unreadable {
		linef(w, "Damaged:  %s cannot be read: %s", u.What, indent(u.Err.Error()))
	}
	switch {
	case st.Applied == nil && len(st.Unreadable) > 0:
		linef(w, "Applied:  not known: see kubectl pharos reconcile --help about --adopt")
	case st.Applied == nil:
		linef(w, "Applied:  nothing yet: kubectl pharos deploy")
	case st.Live != nil && st.Live.ID == st.Applied.ID && len(st.Unreadable) > 0:
		linef(w, "Commit:   %s, applied and, as the pointers say, live (receipt %s)", shortID(st.Applied.Record.Commit), st.Applied.ID.Short())
	case st.Live != nil && st.Live.ID == st.Applied.ID:
		linef(w, "Commit:   %s, applied and live (receipt %s%s)", shortID(st.Applied.Record.Commit), st.Applied.ID.Short(), age(st.Applied))
	default:
		linef(w, "Applied:  %s (receipt %s): this is what the target was told", shortID(st.Applied.Record.Commit), st.Applied.ID.Short())
		switch {
		case st.LiveUnknown:
			linef(w, "Live:     not known")
		case st.Live == nil:
			linef(w, "Live:     no receipt yet")
		default:
			linef(w, "Live:     %s (receipt %s): this is what it was last healthy at", shortID(st.Live.Record.Commit), st.Live.ID.Short())
		}
	}
	if st.Applied != nil && st.Applied.Record.RollbackOf != "" {
		linef(w, "Rollback: to receipt %s", st.Applied.Record.RollbackOf.Short())
	}
	if st.Applied != nil && !head.Delivered {
		linef(w, "HEAD:     %s", head)
	}
	if st.Last != nil {
		linef(w, "Last:     %s %s ago by %s", st.Last.Type, ago(st.Last.Time), st.Last.Actor)
		if st.Last.Reason != "" {
			linef(w, "          %s", indent(beginning(st.Last.Reason, st.Applied.ID)))
		}
	}
	if f := st.Failure; f != nil && (st.Last == nil || st.Last.Type != receipt.OutcomeFailed || f.ID != st.Applied.ID) {
		linef(w, "Failed:   %s ago at commit %s (receipt %s): %s", ago(f.Result.Time), shortID(f.Commit), f.ID.Short(), indent(beginning(f.Result.Reason, f.ID)))
	}
	fenced := ""
	if st.Lease.Held && st.Lease.Mode == lease.ModeMaintain {
		fenced = "; nobody else delivers until kubectl pharos maintenance off"
	}
	linef(w, "Lease:    %s%s", leaseLine(st.Lease), fenced)
	for _, line := range leaseDetails(st.Lease, st.Gate, st.GateErr) {
		linef(w, "          %s", indent(line))
	}
	if b := st.Lease.Broken; b != nil && !st.Lease.WasBroken() && st.Lease.Now.Sub(b.At) < brokenLately {
		linef(w, "          %s", brokenLine(st.Lease))
	}
	for i, line := range taken.lines() {
		if i == 0 {
			linef(w, "Takeover: %s", line)
			continue
		}
		linef(w, "          %s", indent(line))
	}
	if st.Applied != nil {
		linef(w, "Objects:  %d, %d not healthy, %d drifted, %s", len(st.Applied.Record.Objects),
			len(st.Observation.Unready), len(st.Observation.Drifted), orphans(len(st.Observation.Orphans)))
	}
	for _, a := range st.Observation.Applications {
		o.printApplication(a)
	}
	for _, u := range st.Observation.Unready {
		linef(w, "  %s: %s", lifecycle.ObjectName(u.Object), indent(u.Reason))
	}
	parked.print(w)
	for _, d := range st.Observation.Drifted {
		linef(w, "  %s drifted: %s", lifecycle.ObjectName(d.Object), indent(d.Reason))
	}
	for _, orphan := range st.Observation.Orphans {
		linef(w, "  %s is an orphan: an earlier receipt delivered it", lifecycle.ObjectName(orphan))
	}
}

// brokenLately is for how long the status says that a lease was broken.
const brokenLately = 24 * time.Hour

func orphans(n int) string {
	if n == 1 {
		return "1 orphan"
	}
	return fmt.Sprintf("%d orphans", n)
}

// The limits of a reason in the status.
const (
	reasonLines = 6
	reasonWidth = 400
)

// beginning is as much of a receipt's reason as helps in a summary; some name every
// field of an object.
func beginning(reason string, of receipt.ID) string {
	lines := strings.Split(strings.TrimSpace(reason), "\n")
	cut := len(lines) > reasonLines
	lines = lines[:min(len(lines), reasonLines)]
	for i, line := range lines {
		if runes := []rune(line); len(runes) > reasonWidth {
			lines[i], cut = string(runes[:reasonWidth])+"…", true
		}
	}
	if cut {
		lines = append(lines, "All of it: kubectl pharos receipts show "+of.Short())
	}
	return strings.Join(lines, "\n")
}

// indent has the further lines of a text stand below the first one.
func indent(text string) string {
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n          ")
}
