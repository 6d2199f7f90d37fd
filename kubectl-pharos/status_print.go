package main

import (
	"cmp"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

func ago(t time.Time) time.Duration { return time.Since(t).Round(time.Second) }

// age says how old a receipt is, if that is known.
func age(r *lifecycle.ReceiptStatus) string {
	if r.Created.IsZero() {
		return ""
	}
	return ", " + ago(r.Created).String() + " old"
}

// printApplication shows where an Application of Argo CD is, and which images it
// runs, each on a line.
func (o *statusOptions) printApplication(a receipt.Application) {
	linef(o.Out, "  Application %s/%s: %s, %s, at %s", a.Namespace, a.Name, cmp.Or(a.Sync, "not compared yet"), cmp.Or(a.Health, "health not known"),
		cmp.Or(strings.Join(shortIDs(a.Revisions), ", "), "no revision"))
	for _, image := range a.Images {
		linef(o.Out, "    %s", image)
	}
	for _, c := range a.Conditions {
		linef(o.Out, "    %s", indent(c))
	}
}

func shortIDs(ids []string) []string {
	short := make([]string, len(ids))
	for i, id := range ids {
		short[i] = shortID(id)
	}
	return short
}
