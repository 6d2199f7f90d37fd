package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/receipt"
)

func newReceipts(s *shared) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "receipts",
		Short: "Read the records of what was delivered",
		Long: `Read the records of what was delivered.

A receipt is the record of one delivery as it was asked for: commit, images by
digest, and a hash of every object. What was seen of it are its outcomes. Two
receipts have a name: applied, which the target was told last, and live, which it
was last healthy at.`,
		Example: `  kubectl pharos receipts list

  # What is live
  kubectl pharos receipts show live

  # What the last delivery changed, if it is not live
  kubectl pharos receipts diff live applied

  # Is all of it still there?
  kubectl pharos receipts verify`,
	}
	cmd.AddCommand(newReceiptsList(s), newReceiptsShow(s), newReceiptsDiff(s), newReceiptsVerify(s))
	return group(cmd)
}

type receiptsOptions struct {
	*shared
	output *output
}

func newReceiptsList(s *shared) *cobra.Command {
	o := &receiptsOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the target's receipts, newest first",
		Example: `  kubectl pharos receipts list

  # Every commit that was ever delivered
  kubectl pharos receipts list -o jsonpath='{.items[*].commit}'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.list(cmd.Context()) },
	}
	o.output = newOutput(cmd)
	return cmd
}

func newReceiptsShow(s *shared) *cobra.Command {
	o := &receiptsOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "show RECEIPT",
		Short: "Show one receipt: images, objects, outcomes",
		Long: `Show one receipt: images, objects, outcomes.

RECEIPT is a receipt's ID, its first digits, or one of the words applied and live.`,
		Example: `  kubectl pharos receipts show live

  # The whole record
  kubectl pharos receipts show 3f2a9c -o yaml`,
		Args:              oneReceipt,
		ValidArgsFunction: s.completeReceipts,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.show(cmd.Context(), args[0]) },
	}
	o.output = newOutput(cmd)
	return cmd
}

func oneReceipt(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return errors.New("name one receipt: its ID, its first digits, applied or live")
	}
	return nil
}

func (o *receiptsOptions) store(ctx context.Context) (receipt.Store, error) {
	if err := usage(o.output.check()); err != nil {
		return nil, err
	}
	return o.receipts(ctx)
}

type summaryFields struct {
	Receipt receipt.ID `json:"receipt"`
	Parent  receipt.ID `json:"parent,omitempty"`
	Commit  string     `json:"commit"`
	Created time.Time  `json:"created"`
	Is      []string   `json:"is,omitempty"`      // applied, live
	Outcome string     `json:"outcome,omitempty"` // the latest
	Result  string     `json:"result,omitempty"`  // what it came to: live or failed
	Actor   string     `json:"actor,omitempty"`   // whose outcome Result is, else the latest
	Subject string     `json:"subject,omitempty"` // of the commit, if the repository has it
	// RollbackOf is the earlier receipt whose content it repeats.
	RollbackOf receipt.ID `json:"rollbackOf,omitempty"`
	Error      string     `json:"error,omitempty"` // what of it cannot be read
}

// came says what a receipt came to, and what happened after that.
func (f summaryFields) came() string {
	switch {
	case f.Error != "":
		return "unreadable"
	case f.Result != "" && f.Result != f.Outcome:
		return f.Result + ", " + f.Outcome
	}
	return f.Outcome
}

// about is the commit's subject, and of a rollback which receipt it repeats.
func (f summaryFields) about() string {
	if f.RollbackOf == "" {
		return f.Subject
	}
	return strings.TrimSpace(f.Subject + " (rollback to " + f.RollbackOf.Short() + ")")
}

func (o *receiptsOptions) list(ctx context.Context) error {
	if err := usage(o.output.check()); err != nil {
		return err
	}
	repo, t, so, err := o.open(ctx)
	if err != nil {
		return err
	}
	store, err := standard.NewReceipts(t, so)
	if err != nil {
		return err
	}
	pointers, err := store.Pointers(ctx)
	if err != nil && !errors.Is(err, receipt.ErrCorrupt) {
		return lifecycle.TargetError(err)
	}
	damaged := err
	summaries, err := store.List(ctx)
	if err != nil {
		return lifecycle.TargetError(err)
	}
	contents, err := readAll(ctx, store, summaries)
	if err != nil {
		return lifecycle.TargetError(err)
	}
	var rows [][]any
	var items []object
	for i, s := range summaries {
		if errors.Is(contents[i].RecordErr, receipt.ErrNotFound) {
			continue // it was deleted after the list was made
		}
		f := summaryOf(ctx, repo, s, contents[i], pointers)
		if f.Error != "" {
			linef(o.ErrOut, "warning: receipt %s cannot be read: %s", s.ID.Short(), f.Error)
		}
		item, err := newObject("Receipt", s.ID.Hex(), f)
		if err != nil {
			return err
		}
		items = append(items, item)
		rows = append(rows, []any{s.ID.Short(), shortID(f.Commit), f.came(), strings.Join(f.Is, ","), time.Since(s.Created).Round(time.Second).String(), f.Actor, f.about(), string(s.ID)})
	}
	lost := lost(pointers, damaged, summaries)
	for _, what := range lost {
		linef(o.ErrOut, "warning: %s", what)
	}
	if len(rows) == 0 && o.output.human() {
		if len(lost) == 0 {
			linef(o.ErrOut, "nothing was delivered yet: kubectl pharos deploy")
		}
		return nil
	}
	if !o.output.human() {
		return o.output.printList(o.Out, "ReceiptList", items)
	}
	columns := []column{{name: "Receipt"}, {name: "Commit"}, {name: "Outcome"}, {name: "Is"}, {name: "Age"}, {name: "Actor"}, {name: "Subject"}, {name: "ID", wide: true}}
	return o.output.table(o.Out, columns, rows)
}

// readAll reads receipts with their outcomes. Only these are what their IDs and names
// stand for: the index of a store may have been edited.
func readAll(ctx context.Context, store receipt.Store, list []receipt.Summary) ([]receipt.Whole, error) {
	contents := make([]receipt.Whole, len(list))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for i, s := range list {
		g.Go(func() error {
			w := receipt.ReadWhole(ctx, store, s.ID)
			contents[i] = w
			for _, err := range []error{w.RecordErr, w.OutcomesErr} {
				if err != nil && !errors.Is(err, receipt.ErrCorrupt) && !errors.Is(err, receipt.ErrNotFound) {
					return err
				}
			}
			return nil
		})
	}
	return contents, g.Wait()
}

func summaryOf(ctx context.Context, repo *source.Repository, listed receipt.Summary, w receipt.Whole, pointers receipt.Pointers) summaryFields {
	s := receipt.Summary{ID: listed.ID, Created: listed.Created, Commit: w.Record.Commit}
	for _, o := range w.Outcomes {
		s.Add(o.Summary())
	}
	f := summaryFields{Receipt: s.ID, Parent: w.Record.Parent, RollbackOf: w.Record.RollbackOf, Commit: s.Commit, Created: s.Created, Is: pointed(s.ID, pointers)}
	if s.Last != nil {
		f.Outcome, f.Actor = string(s.Last.Type), s.Last.Actor
	}
	if s.Result != nil {
		f.Result, f.Actor = string(s.Result.Type), s.Result.Actor
	}
	if err := errors.Join(w.RecordErr, w.OutcomesErr); err != nil {
		f.Error = err.Error()
	}
	// A commit that was delivered from elsewhere need not be in this clone.
	if c, err := repo.Commit(ctx, s.Commit); err == nil && s.Commit != "" {
		f.Subject = c.Subject
	}
	return f
}

func pointed(id receipt.ID, p receipt.Pointers) []string {
	var is []string
	if id == p.Applied {
		is = append(is, "applied")
	}
	if id == p.Live {
		is = append(is, "live")
	}
	return is
}

func (o *receiptsOptions) show(ctx context.Context, name string) error {
	store, err := o.store(ctx)
	if err != nil {
		return err
	}
	id, err := findReceipt(ctx, store, name)
	if err != nil {
		return err
	}
	rec, err := o.get(ctx, store, id)
	if err != nil {
		return err
	}
	outcomes, err := store.Outcomes(ctx, id)
	if err != nil {
		return lifecycle.TargetError(err)
	}
	if o.output.human() {
		o.printReceipt(id, rec, outcomes)
		return nil
	}
	obj, err := newObject("Receipt", id.Hex(), struct {
		Record   receipt.Record    `json:"record"`
		Outcomes []receipt.Outcome `json:"outcomes"`
	}{rec, outcomes})
	if err != nil {
		return err
	}
	return o.output.print(o.Out, obj)
}

func (o *receiptsOptions) get(ctx context.Context, store receipt.Store, id receipt.ID) (receipt.Record, error) {
	rec, err := store.Get(ctx, id)
	if errors.Is(err, receipt.ErrNotFound) {
		return rec, fmt.Errorf("there is no receipt %s: see kubectl pharos receipts list", id)
	}
	return rec, lifecycle.TargetError(err)
}

func (o *receiptsOptions) printReceipt(id receipt.ID, rec receipt.Record, outcomes []receipt.Outcome) {
	w := o.Out
	linef(w, "Receipt:   %s", id)
	linef(w, "Target:    %s (cluster %s)", rec.Target.Name, rec.Target.ClusterUID)
	linef(w, "Commit:    %s", rec.Commit)
	linef(w, "Tree:      %s", rec.Tree)
	if rec.Parent != "" {
		linef(w, "Parent:    %s", rec.Parent)
	}
	if rec.RollbackOf != "" {
		linef(w, "Rollback:  of %s", rec.RollbackOf)
	}
	linef(w, "Renderer:  %s %s, %d paths looked at", rec.Renderer.Name, rec.Renderer.Version, len(rec.Reads))
	linef(w, "Images:")
	for _, i := range rec.Images {
		linef(w, "  %s  %s@%s", i.Name, i.Repository, i.Digest)
		linef(w, "  %s  fingerprint %s", strings.Repeat(" ", len(i.Name)), i.Fingerprint)
	}
	linef(w, "Objects:")
	for _, obj := range rec.Objects {
		linef(w, "  %s", lifecycle.ObjectName(obj))
	}
	linef(w, "Outcomes:")
	for _, out := range outcomes {
		linef(w, "  %s  %s by %s", out.Time.UTC().Format(time.RFC3339), out.Type, out.Actor)
		if out.Reason != "" {
			linef(w, "    %s", strings.ReplaceAll(out.Reason, "\n", "\n    "))
		}
		for _, a := range out.Applications {
			linef(w, "    Application %s/%s: %s", a.Namespace, a.Name, applicationWords(a))
		}
		for _, job := range out.Jobs {
			linef(w, "    %s", lifecycle.ObjectName(job))
		}
	}
}

// applicationWords are what was seen of an Application, in one line.
func applicationWords(a receipt.Application) string {
	var words []string
	for _, word := range []string{a.Sync, a.Health, a.Operation} {
		if word != "" {
			words = append(words, word)
		}
	}
	for _, revision := range a.Revisions {
		words = append(words, "at "+shortID(revision))
	}
	if a.Message != "" {
		words = append(words, strings.TrimSpace(a.Message))
	}
	return strings.Join(words, ", ")
}
