package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/receipt"
)

func newReceiptsDiff(s *shared) *cobra.Command {
	o := &receiptsOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "diff RECEIPT RECEIPT",
		Short: "Show what differs between two receipts: commit, images and why, objects",
		Long: `Show what differs between two receipts: commit, images and why, objects.

RECEIPT is a receipt's ID, its first digits, or one of the words applied and live.
Which files of an image changed is shown if this repository has both commits. Of
objects the receipts have the hashes only; kubectl pharos diff shows what a delivery
would change in them.

The exit code is that of kubectl diff: 0 if they say the same, 1 if they differ, if
only in the commit, more than 1 if that cannot be told.`,
		Example: `  # What the last delivery changed, if it is not live
  kubectl pharos receipts diff live applied

  kubectl pharos receipts diff 3f2a9c 81b0de -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return errors.New("name two receipts, each by its ID, its first digits, applied or live")
			}
			return nil
		},
		ValidArgsFunction: s.completeReceiptsList,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.diff(cmd.Context(), args[0], args[1]) },
	}
	o.output = newOutput(cmd)
	return cmd
}

// receiptDiffSide is one of the two receipts.
type receiptDiffSide struct {
	Receipt receipt.ID `json:"receipt"`
	Commit  string     `json:"commit"`
	Subject string     `json:"subject,omitempty"` // of the commit, if the repository has it

	record receipt.Record
}

type receiptDiffFields struct {
	From receiptDiffSide `json:"from"`
	To   receiptDiffSide `json:"to"`
	// Same says that both records say the same, but for their places in the chain.
	Same    bool                 `json:"same"`
	Fields  []receipt.FieldDiff  `json:"fields,omitempty"`
	Images  []receiptImageDiff   `json:"images,omitempty"`
	Reads   []receipt.ReadDiff   `json:"reads,omitempty"`
	Objects []receipt.ObjectDiff `json:"objects,omitempty"`
	// Notes say what cannot be told.
	Notes []string `json:"notes,omitempty"`
}

// receiptImageDiff is an image that differs, and why.
type receiptImageDiff struct {
	receipt.ImageDiff
	// Reasons are why its fingerprint differs, as why says them: with the paths of
	// its inputs, if the repository has them.
	Reasons []catalogue.Reason `json:"reasons,omitempty"`
}

func (o *receiptsOptions) diff(ctx context.Context, from, to string) error {
	f, err := o.compare(ctx, from, to)
	if errors.Is(err, errNotSo) {
		err = &wrongName{errors.New(err.Error())} // 1 is for receipts that differ
	}
	if err != nil {
		return err
	}
	if err := o.printDiff(f); err != nil {
		return err
	}
	if !f.Same {
		return errNotSo
	}
	return nil
}

func (o *receiptsOptions) compare(ctx context.Context, from, to string) (receiptDiffFields, error) {
	if err := usage(o.output.check()); err != nil {
		return receiptDiffFields{}, err
	}
	repo, t, so, err := o.open(ctx)
	if err != nil {
		return receiptDiffFields{}, err
	}
	store, err := standard.NewReceipts(t, so)
	if err != nil {
		return receiptDiffFields{}, err
	}
	f := receiptDiffFields{}
	for _, side := range []struct {
		name string
		is   *receiptDiffSide
	}{{from, &f.From}, {to, &f.To}} {
		id, err := findReceipt(ctx, store, side.name)
		if err != nil {
			return f, err
		}
		if side.is.record, err = o.get(ctx, store, id); err != nil {
			return f, err
		}
		side.is.Receipt, side.is.Commit = id, side.is.record.Commit
		if c, err := repo.Commit(ctx, side.is.Commit); err == nil {
			side.is.Subject = c.Subject
		}
	}
	d := receipt.Diff(f.From.record, f.To.record)
	f.Same, f.Fields, f.Reads, f.Objects = d.Empty(), d.Fields, d.Reads, d.Objects
	return f, o.explain(ctx, repo, &f, d.Images)
}

// explain says why images differ.
func (o *receiptsOptions) explain(ctx context.Context, repo *source.Repository, f *receiptDiffFields, images []receipt.ImageDiff) error {
	if len(images) == 0 {
		return nil
	}
	head, err := repo.Commit(ctx, "")
	if err != nil {
		return err
	}
	for _, img := range images {
		d := receiptImageDiff{ImageDiff: img}
		if img.Type == receipt.DiffChanged {
			old, note, err := recordedSide(ctx, f.From.record, img.Name, head.Tree.Objects)
			if err != nil {
				return err
			}
			f.note(note)
			new, note, err := recordedSide(ctx, f.To.record, img.Name, head.Tree.Objects)
			if err != nil {
				return err
			}
			f.note(note)
			x, err := catalogue.Explain(ctx, img.Name, old, new, f.From.record.Reads)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				f.note(fmt.Sprintf("which inputs of %s changed cannot be told: %v", img.Name, err))
			}
			d.Reasons = x.Reasons
		}
		f.Images = append(f.Images, d)
	}
	return nil
}

func (f *receiptDiffFields) note(s string) {
	for _, known := range f.Notes {
		if known == s {
			return
		}
	}
	if s != "" {
		f.Notes = append(f.Notes, s)
	}
}

func (o *receiptsOptions) printDiff(f receiptDiffFields) error {
	if !o.output.human() {
		obj, err := newObject("ReceiptDiff", f.From.Receipt.Short()+"-"+f.To.Receipt.Short(), f)
		if err != nil {
			return err
		}
		return o.output.print(o.Out, obj)
	}
	for _, note := range f.Notes {
		linef(o.ErrOut, "warning: %s", note)
	}
	if f.Same {
		linef(o.ErrOut, "receipts %s and %s deliver the same", f.From.Receipt.Short(), f.To.Receipt.Short())
		return nil
	}
	w := o.Out
	linef(w, "--- receipt %s  commit %s %s", f.From.Receipt.Short(), shortID(f.From.Commit), f.From.Subject)
	linef(w, "+++ receipt %s  commit %s %s", f.To.Receipt.Short(), shortID(f.To.Commit), f.To.Subject)
	for _, d := range f.Fields {
		linef(w, "%s: %s → %s", d.Field, d.Old, d.New)
	}
	for _, d := range f.Images {
		linef(w, "%s image %s", sign(d.Type), d.Name)
		if d.Type == receipt.DiffChanged {
			for _, field := range d.Fields {
				linef(w, "    %s: %s → %s", field.Field, orNone(field.Old), orNone(field.New))
			}
			(&whyOptions{shared: o.shared}).printReasons(d.Reasons, "    ")
		}
	}
	for _, d := range f.Reads {
		linef(w, "%s read %s", sign(d.Type), d.Path)
	}
	for _, d := range f.Objects {
		linef(w, "%s %s", sign(d.Type), lifecycle.ObjectName(d.Object()))
	}
	return nil
}

// sign is what stands before a line of a diff.
func sign(t receipt.DiffType) string {
	return map[receipt.DiffType]string{receipt.DiffAdded: "+", receipt.DiffRemoved: "-", receipt.DiffChanged: "~"}[t]
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return strings.ReplaceAll(s, ",", " ")
}
