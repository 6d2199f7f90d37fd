package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

func newReceiptsVerify(s *shared) *cobra.Command {
	o := &receiptsOptions{shared: s}
	cmd := &cobra.Command{
		Use:   "verify [RECEIPT...]",
		Short: "Check receipts against what they say, and the registry for their images",
		Long: `Check receipts against what they say, and the registry for their images.

Each record is hashed again, its outcomes are read, and the chain from what is
applied and live is followed as far back as it is kept. The registry is asked for
every digest, and for all manifests and layers behind it. Without a RECEIPT, all
receipts of the target are checked. Nothing is written.

All findings are said together. The exit code is 1 if there are any.`,
		Example: `  kubectl pharos receipts verify

  # Can the live one still be rolled back to?
  kubectl pharos receipts verify live`,
		ValidArgsFunction: s.completeReceiptsList,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.verify(cmd.Context(), args) },
	}
	o.output = newOutput(cmd)
	return cmd
}

type verificationFields struct {
	Receipts []receipt.ID              `json:"receipts"`
	Images   int                       `json:"images"`
	Findings []lifecycle.VerifyFinding `json:"findings"`
}

func (o *receiptsOptions) verify(ctx context.Context, names []string) error {
	if err := usage(o.output.check()); err != nil {
		return err
	}
	_, t, _, err := o.open(ctx)
	if err != nil {
		return err
	}
	l, err := o.lifecycle(t)
	if err != nil {
		return err
	}
	var ids []receipt.ID
	for _, name := range names {
		id, err := findReceipt(ctx, l.Receipts, name)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	v, err := l.VerifyReceipts(ctx, ids...)
	if err != nil && len(v.Findings) == 0 {
		return err
	}
	if perr := o.printVerification(t.Name, v, err == nil); perr != nil {
		return perr
	}
	switch {
	case err != nil:
		return err
	case len(v.Findings) > 0:
		return errNotSo
	}
	return nil
}

func (o *receiptsOptions) printVerification(target string, v lifecycle.Verification, whole bool) error {
	if !o.output.human() {
		fields := verificationFields{Receipts: v.Receipts, Images: v.Images, Findings: v.Findings}
		if fields.Receipts == nil {
			fields.Receipts = []receipt.ID{}
		}
		if fields.Findings == nil {
			fields.Findings = []lifecycle.VerifyFinding{}
		}
		obj, err := newObject("ReceiptVerification", target, fields)
		if err != nil {
			return err
		}
		return o.output.print(o.Out, obj)
	}
	for _, f := range v.Findings {
		if f.Receipt == "" {
			linef(o.Out, "%s: %s", f.Subject, f.Message)
		} else {
			linef(o.Out, "%s  %s: %s", f.Receipt.Short(), f.Subject, f.Message)
		}
	}
	switch {
	case !whole: // and an error follows
	case len(v.Findings) > 0:
		linef(o.ErrOut, "%d receipts and %d images were checked: %d findings", len(v.Receipts), v.Images, len(v.Findings))
	case len(v.Receipts) == 0:
		linef(o.ErrOut, "nothing was delivered yet: kubectl pharos reconcile")
	default:
		linef(o.Out, "%d receipts and %d images: all as recorded", len(v.Receipts), v.Images)
	}
	return nil
}
