package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	ages "k8s.io/apimachinery/pkg/util/duration"

	"github.com/pharos-dev/pharos/reaper/inventory"
)

// print shows the report of a target, which has no name if there is none.
func (o *inventoryOptions) print(target string, r inventory.Report, taken *takeoverFields) error {
	switch {
	case o.output.format() == "name":
		named := map[inventory.Ref]bool{}
		for _, f := range r.Findings {
			if f.Object != nil && !named[*f.Object] {
				named[*f.Object] = true
				linef(o.Out, "%s", objectName(f.Object.Group, f.Object.Kind, f.Object.Name))
			}
		}
		return nil
	case o.output.human():
		return o.printHuman(target, r, taken)
	}
	obj, err := newObject("Inventory", cmp.Or(target, "cluster"), struct {
		inventory.Report
		Takeover *takeoverFields `json:"takeover,omitempty"`
	}{r, taken})
	if err != nil {
		return err
	}
	return o.output.print(o.Out, obj)
}

func (o *inventoryOptions) printHuman(target string, r inventory.Report, taken *takeoverFields) error {
	where := "all namespaces"
	if len(r.Namespaces) > 0 {
		where = strings.Join(r.Namespaces, ", ")
	}
	if target != "" {
		linef(o.Out, "Target:     %s", target)
	}
	for i, line := range taken.lines() {
		title := ""
		if i == 0 {
			title = "Takeover:"
		}
		linef(o.Out, "%-11s %s", title, indent(line))
	}
	linef(o.Out, "Looked at:  %s", where)
	linef(o.Out, "Declared:   %s", declaredLine(r.Declared))
	transient := 0
	for _, g := range r.Transient {
		transient += g.Count
	}
	linef(o.Out, "Transient:  %d", transient)
	linef(o.Out, "Durable:    %d that nobody declares", len(r.Durable))
	if len(r.Elsewhere) > 0 {
		linef(o.Out, "Elsewhere:  %s", counts(r.Elsewhere))
	}
	if len(r.Others) > 0 {
		linef(o.Out, "Others:     %s", counts(r.Others))
	}
	linef(o.Out, "Findings:   %s", findingsLine(r.Findings))
	for _, part := range []func(inventory.Report) error{o.printTransient, o.printDurable} {
		if err := part(r); err != nil {
			return err
		}
	}
	o.printFindings(r.Findings)
	o.printCoverage(r.Coverage)
	return nil
}

func declaredLine(d inventory.Declared) string {
	if !d.Known {
		return "not known: no receipt was read"
	}
	line := fmt.Sprintf("%d of %s, %d found, %d missing, %d drifted, %s", d.Objects, d.Of, d.Found, len(d.Missing), len(d.Drifted), orphans(len(d.Orphans)))
	if len(d.Unknown) > 0 {
		line += fmt.Sprintf(", %d not known", len(d.Unknown))
	}
	return line
}

// counts are such as "3 Helm, 1 kapp", by name.
func counts(of map[string]int) string {
	var words []string
	for name, n := range of {
		words = append(words, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

func findingsLine(findings []inventory.Finding) string {
	if len(findings) == 0 {
		return "none"
	}
	by := map[string]int{}
	for _, f := range findings {
		by[string(f.Problem)]++
	}
	return counts(by)
}

// since is how long ago something was, as kubectl shows ages.
func since(now, then time.Time) string { return ages.HumanDuration(max(0, now.Sub(then))) }

func (o *inventoryOptions) printTransient(r inventory.Report) error {
	if len(r.Transient) == 0 {
		return nil
	}
	linef(o.Out, "\nTransient:")
	var rows [][]any
	for _, g := range r.Transient {
		trend := "-"
		if t := g.Trend; t != nil {
			if trend = fmt.Sprintf("%+.3g/h", t.PerHour); t.Climbing {
				trend += ", climbing"
			}
		}
		rows = append(rows, []any{g.Resource, g.Count, ages.HumanDuration(time.Duration(g.MedianAge) * time.Second), since(r.Time, g.OldestCreated), g.CreatedLastHour,
			g.Overdue, trend, g.Covered, g.Terminating, g.Refused, g.Oldest.String()})
	}
	columns := []column{{name: "Resource"}, {name: "Count"}, {name: "Age"}, {name: "Oldest"}, {name: "Last hour"}, {name: "Overdue"}, {name: "Trend"},
		{name: "With namespace", wide: true}, {name: "Terminating", wide: true}, {name: "Refused", wide: true}, {name: "Oldest object", wide: true}}
	return o.output.table(o.Out, columns, rows)
}

func (o *inventoryOptions) printDurable(r inventory.Report) error {
	if len(r.Durable) == 0 {
		return nil
	}
	linef(o.Out, "\nUndeclared and durable:")
	var rows [][]any
	for _, d := range r.Durable {
		size, of := "", ""
		if d.Size != nil {
			size = d.Size.String()
		}
		if d.Of != nil {
			of = d.Of.String()
		}
		owner := d.Owner
		switch {
		case d.Unowned():
			owner = "no owner"
		case owner == "":
			owner = "of " + of
		}
		rows = append(rows, []any{d.Object.String(), visible(owner), size, d.Phase, since(r.Time, d.Created), d.Resource, of, d.Retained})
	}
	columns := []column{{name: "Object"}, {name: "Owner"}, {name: "Size"}, {name: "Phase"}, {name: "Age"}, {name: "Resource", wide: true}, {name: "Of", wide: true}, {name: "Retained", wide: true}}
	return o.output.table(o.Out, columns, rows)
}

// shown is how many findings of one kind, and gaps, are shown to people.
const shown = 20

func (o *inventoryOptions) printFindings(findings []inventory.Finding) {
	wide := o.output.format() == "wide"
	by := map[inventory.Problem]int{}
	for _, f := range findings {
		by[f.Problem]++
		switch n := by[f.Problem]; {
		case n == 1 && len(by) == 1:
			linef(o.Out, "\nFindings:")
		case n > shown && !wide:
			continue
		}
		of := f.Resource
		if f.Object != nil {
			of = oneLine(f.Object.String())
		}
		linef(o.Out, "  %s %s: %s", f.Problem, of, strings.ReplaceAll(f.Message, "\n", "\n    "))
	}
	for _, p := range slices.Sorted(maps.Keys(by)) {
		if n := by[p]; n > shown && !wide {
			linef(o.Out, "  and %d more that are %s: -o wide, or -o json", n-shown, p)
		}
	}
}

// printCoverage says what was not read: in one line for each reason, since who may
// not list much may not list many kinds.
func (o *inventoryOptions) printCoverage(gaps []inventory.Gap) {
	if len(gaps) == 0 {
		return
	}
	linef(o.Out, "\nNot read:")
	forbidden := map[string][]string{}
	for _, g := range gaps {
		where := "in all namespaces"
		if g.Namespace != "" {
			where = "in namespace " + g.Namespace
		}
		switch {
		case g.Forbidden && g.Resource != "":
			forbidden[where] = append(forbidden[where], strings.TrimSuffix(g.Resource+"/"+g.Name, "/"))
		case g.Resource == "":
			linef(o.Out, "  %s", strings.ReplaceAll(g.Message, "\n", "\n    "))
		default:
			linef(o.Out, "  %s %s: %s", g.Resource, where, g.Message)
		}
	}
	wide := o.output.format() == "wide"
	for _, where := range slices.Sorted(maps.Keys(forbidden)) {
		names := forbidden[where]
		if n := len(names); n > shown && !wide {
			names = append(names[:shown:shown], fmt.Sprintf("and %d more", n-shown))
		}
		linef(o.Out, "  forbidden %s: %s", where, strings.Join(names, ", "))
	}
}
