package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/receipt"
)

// maxOthers is how many paths are shown that are not why an image changed.
const maxOthers = 10

type explanationFields struct {
	Image   string             `json:"image"`
	Changed bool               `json:"changed"`
	Reasons []catalogue.Reason `json:"reasons"`
	From    sideFields         `json:"from"`
	To      sideFields         `json:"to"`
	Others  *othersFields      `json:"others,omitempty"`
}

type sideFields struct {
	Revision    string                `json:"revision,omitempty"`
	Receipt     receipt.ID            `json:"receipt,omitempty"`
	Commit      source.ID             `json:"commit,omitempty"`
	Fingerprint catalogue.Fingerprint `json:"fingerprint,omitempty"`
	// Error says why there is no fingerprint.
	Error string `json:"error,omitempty"`
	// Note says what cannot be told of a receipt.
	Note string `json:"note,omitempty"`
}

// othersFields are the paths that differ and do not reach the image.
type othersFields struct {
	Count int                   `json:"count"`
	First []catalogue.PathClass `json:"first"`
}

func (s *side) fields(f catalogue.Fingerprint, err error) sideFields {
	fields := sideFields{Revision: s.revision, Receipt: s.receipt, Commit: s.commit, Fingerprint: f, Note: s.note}
	if err != nil {
		fields.Error = err.Error()
	}
	return fields
}

func (o *whyOptions) print(x catalogue.Explanation, old, new *side) error {
	if o.output.human() {
		o.printHuman(x, old, new)
		return nil
	}
	fields := explanationFields{Image: x.Image, Changed: x.Changed, Reasons: x.Reasons, From: old.fields(x.Old, x.OldErr), To: new.fields(x.New, x.NewErr)}
	if fields.Reasons == nil {
		fields.Reasons = []catalogue.Reason{}
	}
	if n := len(x.Others); n > 0 {
		fields.Others = &othersFields{Count: n, First: x.Others[:min(n, maxOthers)]}
	}
	obj, err := newObject("Explanation", x.Image, fields)
	if err != nil {
		return err
	}
	return o.output.print(o.Out, obj)
}

func (o *whyOptions) printHuman(x catalogue.Explanation, old, new *side) {
	switch {
	case x.NewErr != nil: // which the error says
	case x.OldErr != nil:
		linef(o.Out, "%s had no fingerprint at %s:\n  %s", x.Image, old.name(), strings.ReplaceAll(x.OldErr.Error(), "\n", "\n  "))
	case x.Changed:
		linef(o.Out, "%s changed between %s and %s:", x.Image, old.name(), new.name())
		o.printReasons(x.Reasons, "  ")
	default:
		linef(o.Out, "%s is the same at %s and %s: %s", x.Image, old.name(), new.name(), x.New)
		o.printOthers(x.Others)
	}
	for _, s := range []*side{old, new} {
		if s.note != "" {
			linef(o.ErrOut, "warning: %s", s.note)
		}
	}
}

func (o *whyOptions) printReasons(reasons []catalogue.Reason, indent string) {
	for _, r := range reasons {
		more := ""
		if len(r.Reasons) > 0 {
			more = ":"
		}
		linef(o.Out, "%s%s%s", indent, r, more)
		o.printReasons(r.Reasons, indent+"  ")
	}
}

func (o *whyOptions) printOthers(others []catalogue.PathClass) {
	if len(others) == 0 {
		return
	}
	differ := "paths differ and are"
	if len(others) == 1 {
		differ = "path differs and is"
	}
	linef(o.Out, "%d %s not among its inputs:", len(others), differ)
	for _, p := range others[:min(len(others), maxOthers)] {
		linef(o.Out, "  %s", p)
	}
	if n := len(others) - maxOthers; n > 0 {
		linef(o.Out, "  and %d more", n)
	}
}

// listed puts names into a sentence.
func listed(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	switch n := len(names); {
	case n == 0:
		return "none"
	case n > maxOthers:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxOthers], ", "), n-maxOthers)
	}
	return strings.Join(names, ", ")
}

// nearest returns the names that are spelt nearly like the one given.
func nearest(name string, names []string) []string {
	c := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, n := range names {
		c.AddCommand(&cobra.Command{Use: n, Run: func(*cobra.Command, []string) {}})
	}
	return c.SuggestionsFor(name)
}
