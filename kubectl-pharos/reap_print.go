package main

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pharos-dev/pharos/reaper/sweep"
)

// reapPrinter prints what a pass does, while it does it.
type reapPrinter struct {
	*reapOptions
	dryRun bool
	said   time.Time // the last sign of life
	ended  int
}

// signOfLife is how often it is said how far a pass is, where its objects are not.
const signOfLife = 10 * time.Second

func newReapPrinter(o *reapOptions, dryRun bool) *reapPrinter {
	return &reapPrinter{reapOptions: o, dryRun: dryRun, said: time.Now()}
}

// item prints what became of one object.
func (p *reapPrinter) item(i sweep.Item) {
	deleted := i.Outcome == sweep.Deleted || i.Outcome == sweep.WouldDelete
	if deleted {
		p.ended++
	}
	switch {
	case p.output.format() == "name":
		if deleted {
			linef(p.Out, "%s", objectName(i.Resource.Group, i.Resource.Kind, i.Object.Name))
		}
	case !p.output.human():
		if now := time.Now(); now.Sub(p.said) > signOfLife {
			p.said = now
			linef(p.ErrOut, "deleted %d so far", p.ended)
		}
	case deleted:
		where, would, why := "", "", ""
		if i.Object.Namespace != "" {
			where = " in " + i.Object.Namespace
		}
		if p.dryRun {
			would = " (dry run)"
		}
		if p.output.format() == "wide" {
			why = ": " + i.Decision.Message
		}
		linef(p.Out, "%s deleted%s%s%s", objectName(i.Resource.Group, i.Resource.Kind, i.Object.Name), where, would, why)
	}
}

// report prints what was done and found; err is why that is not all.
func (p *reapPrinter) report(r sweep.Report, err error) error {
	switch {
	case p.output.format() == "name":
		p.problems(p.errLine, r)
		return nil
	case !p.output.human():
		if err != nil && r.Started.IsZero() {
			return nil
		}
		obj, err := newObject("Reap", "cluster", r)
		if err != nil {
			return err
		}
		return p.output.print(p.Out, obj)
	case err != nil && r.Started.IsZero():
		return nil
	}
	p.problems(p.outLine, r)
	linef(p.Out, "%s", summary(r))
	return nil
}

func (p *reapPrinter) outLine(format string, args ...any) { linef(p.Out, format, args...) }
func (p *reapPrinter) errLine(format string, args ...any) { linef(p.ErrOut, format, args...) }

// problems prints the findings, and what was not looked at.
func (p *reapPrinter) problems(line func(string, ...any), r sweep.Report) {
	for _, f := range r.Findings {
		name := objectName(groupOf(f.Resource), f.Kind, f.Name)
		if f.Namespace != "" {
			name += " in " + f.Namespace
		}
		line("%s: %s: %s", name, f.Reason, indent(f.Message))
		if p.output.format() != "wide" {
			continue
		}
		for _, h := range f.Held {
			line("          holds %s: %s", objectName(groupOf(h.Resource), h.Kind, h.Name), indent(h.Why))
		}
		for _, g := range f.Gaps {
			line("          not looked at: %s: %s", g.What, indent(g.Why))
		}
	}
	if r.FindingsOmitted > 0 {
		line("and %d more findings", r.FindingsOmitted)
	}
	for _, g := range r.Gaps {
		line("not looked at: %s: %s", g.What, indent(g.Why))
	}
}

// groupOf is the group of a resource that is named as kubectl does.
func groupOf(resource string) string { return schema.ParseGroupResource(resource).Group }

// summary is the report in one line.
func summary(r sweep.Report) string {
	c := r.Counts
	done := fmt.Sprintf("%d deleted", c.Deleted)
	if r.DryRun {
		done = fmt.Sprintf("%d would be deleted", c.WouldDelete)
	}
	parts := []string{done}
	for _, part := range []struct {
		n    int
		what string
	}{{c.Waiting, "not due"}, {c.Kept, "kept"}, {c.Gone, "gone already"}, {c.Refused, "refused"}, {c.Failed, "failed"}, {len(r.Gaps), "resources not looked at"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	return strings.Join(parts, ", ")
}
