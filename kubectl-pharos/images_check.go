package main

import (
	"cmp"
	"context"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
)

// runCheck prints what is declared wrongly; its exit code is 1 if anything is.
func (o *imagesOptions) runCheck(ctx context.Context, tree source.Tree) error {
	findings, err := catalogue.Check(ctx, tree)
	if err != nil {
		return &lifecycle.Error{Op: "check", On: catalogue.FileName, Class: lifecycle.ErrSource, Err: err}
	}
	if err := o.printFindings(findings); err != nil {
		return err
	}
	if len(findings) > 0 {
		return errNotSo
	}
	return nil
}

func (o *imagesOptions) printFindings(findings []catalogue.Finding) error {
	if !o.output.human() {
		var items []object
		for _, f := range findings {
			item, err := newObject("Finding", cmp.Or(f.Image, catalogue.FileName), f)
			if err != nil {
				return err
			}
			items = append(items, item)
		}
		return o.output.printList(o.Out, "FindingList", items)
	}
	if len(findings) == 0 {
		linef(o.Out, "%s is as it should be", catalogue.FileName)
		return nil
	}
	for _, f := range findings {
		linef(o.Out, "%s", f)
	}
	return nil
}
