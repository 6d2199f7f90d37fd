package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/lock"
)

type lockEntryFields struct {
	Reference string           `json:"reference"`
	State     lock.State       `json:"state"`
	Digest    lifecycle.Digest `json:"digest,omitempty"`
	Previous  lifecycle.Digest `json:"previous,omitempty"`
	Images    []string         `json:"images,omitempty"`
	Users     []string         `json:"users,omitempty"`
	Lacks     []string         `json:"lacks,omitempty"`
	Error     string           `json:"error,omitempty"`
}

// print writes what was compared, and what became of it.
func (o *lockOptions) print(r *lock.Report, written, failed bool) error {
	if o.output.human() {
		o.warnLacks(r)
		if failed && !o.check {
			linef(o.ErrOut, "nothing was written")
			return nil // a table would look as if it had been
		}
		if err := o.printChanges(r); err != nil || failed {
			return err
		}
		linef(o.Out, "%s", o.summary(r, written))
		return nil
	}
	var items []object
	for _, e := range r.Entries {
		f := lockEntryFields{Reference: e.Reference, State: e.State, Digest: e.Digest, Previous: e.Previous, Images: e.Images, Users: e.Users, Lacks: e.Lacks}
		if e.Err != nil {
			f.Error = e.Err.Error()
		}
		item, err := newObject("LockEntry", e.Reference, f)
		if err != nil {
			return err
		}
		items = append(items, item)
	}
	return o.output.printList(o.Out, "LockEntryList", items)
}

// warnLacks is for stages that may or may not run on an image's platforms.
func (o *lockOptions) warnLacks(r *lock.Report) {
	for _, e := range r.Entries {
		if len(e.Lacks) > 0 && e.State != lock.Failed {
			linef(o.ErrOut, "warning: %s has nothing for %s, which %s is built for: only stages that run on the machine that builds can use it",
				e.Reference, strings.Join(e.Lacks, ", "), strings.Join(e.Images, ", "))
		}
	}
}

func (o *lockOptions) printChanges(r *lock.Report) error {
	// What a comparison calls missing, a written lock has as added.
	words := map[lock.State]string{lock.Missing: "added", lock.Moved: "moved", lock.Unused: "removed"}
	if o.check {
		words = map[lock.State]string{lock.Missing: "missing", lock.Moved: "moved", lock.Unused: "unused"}
	}
	var rows [][]any
	for _, e := range r.Entries {
		if word, ok := words[e.State]; ok {
			rows = append(rows, []any{word, e.Reference, cmp.Or(string(e.Previous), "<none>"), cmp.Or(string(e.Digest), "<none>"), strings.Join(slices.Concat(e.Images, e.Users), ",")})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return o.output.table(o.Out, []column{{name: "Change"}, {name: "Reference"}, {name: "Locked"}, {name: "Now"}, {name: "Images", wide: true}}, rows)
}

func (o *lockOptions) summary(r *lock.Report, written bool) string {
	used := len(r.Entries) - r.Count(lock.Unused)
	switch {
	case written:
		return catalogue.LockFileName + " was written: commit it"
	case r.Differs() && o.check:
		return catalogue.LockFileName + " is not as it should be: kubectl pharos lock adds and removes, and moves with --update"
	case r.Differs():
		return "nothing was written"
	case used == 0:
		return "no image uses a reference that has to be locked"
	case o.check || o.update:
		return catalogue.LockFileName + " is as it should be"
	}
	return fmt.Sprintf("%s holds all references (%d); --check says which have moved", catalogue.LockFileName, used)
}

// counter shows on a terminal how far something is, on one line.
type counter struct {
	w     io.Writer
	what  string
	shown int // characters
}

func (c *counter) count(done, all int) {
	if !isTerminal(c.w) {
		return
	}
	line := fmt.Sprintf("%s: %d of %d", c.what, done, all)
	fmt.Fprint(c.w, "\r"+line)
	c.shown = len(line)
}

// clear makes the line as if it had never been there.
func (c *counter) clear() {
	if c.shown > 0 {
		fmt.Fprint(c.w, "\r"+strings.Repeat(" ", c.shown)+"\r")
	}
}

// isTerminal takes a device for a terminal: where it is not, as for /dev/null,
// nobody sees the difference.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
