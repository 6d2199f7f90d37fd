package argocd

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/pharos-dev/pharos/internal/argo"
)

// found is a window of a lease in a project.
type found struct {
	index int
	mark  argo.Mark
}

// windowsOf are the windows of a project whose marks are of one lease's holder,
// in their order.
func windowsOf(p *argo.Project, m argo.Mark) []found {
	var list []found
	for i, w := range p.Spec.SyncWindows {
		if mark, err := w.Mark(); err == nil && mark != nil && sameHolder(*mark, m) {
			list = append(list, found{i, *mark})
		}
	}
	return list
}

// sameHolder says whether two marks are of the same holder of a lease.
func sameHolder(a, b argo.Mark) bool {
	return a.Of(b.Namespace, b.Target) && a.Token == b.Token && a.Holder == b.Holder
}

// The operations on a project's windows. What they change is tested to be as it
// was read.

func addOps(p *argo.Project, w window) []argo.Op {
	w.mark.First = first(p)
	w = w.among(p.Spec.SyncWindows)
	if p.Spec.SyncWindows == nil {
		return []argo.Op{{Op: "add", Path: "/spec/syncWindows", Value: []any{w.fields()}}}
	}
	return []argo.Op{{Op: "add", Path: "/spec/syncWindows/-", Value: w.fields()}}
}

// first says whether a project has no list of windows, or has it from a lease.
func first(p *argo.Project) bool {
	return p.Spec.SyncWindows == nil || slices.ContainsFunc(p.Spec.SyncWindows, func(w argo.Window) bool {
		m, err := w.Mark()
		return err == nil && m != nil && m.First
	})
}

func replaceOps(p *argo.Project, i int, w window) []argo.Op {
	w = w.among(slices.Delete(slices.Clone(p.Spec.SyncWindows), i, i+1))
	return []argo.Op{testOp(p, i), {Op: "replace", Path: pathTo(i), Value: w.fields()}}
}

// removeOps remove windows, the last first, and with the last window the list if
// it came with them.
func removeOps(p *argo.Project, windows []found) []argo.Op {
	var ops []argo.Op
	wasFirst := false
	for _, f := range slices.Backward(windows) {
		ops = append(ops, testOp(p, f.index), argo.Op{Op: "remove", Path: pathTo(f.index)})
		wasFirst = wasFirst || f.mark.First
	}
	if wasFirst && len(windows) == len(p.Spec.SyncWindows) {
		ops = append(ops, argo.Op{Op: "remove", Path: "/spec/syncWindows"})
	}
	return ops
}

func testOp(p *argo.Project, i int) argo.Op {
	return argo.Op{Op: "test", Path: pathTo(i), Value: p.Spec.SyncWindows[i].Raw}
}

func pathTo(i int) string { return "/spec/syncWindows/" + strconv.Itoa(i) }

// verify says what keeps a project from having exactly one window of the mark's
// holder, of those names, as Pharos wrote it. It returns that window.
func verify(p *argo.Project, m argo.Mark, names []string) (found, window, []string) {
	windows := windowsOf(p, m)
	switch {
	case len(windows) == 0:
		return found{}, window{}, []string{"its window is not there any more"}
	case len(windows) > 1:
		return found{}, window{}, []string{fmt.Sprintf("its window is there %d times", len(windows))}
	}
	f := windows[0]
	w, wrong := read(p.Spec.SyncWindows[f.index], f.mark)
	if f.mark.Ended {
		wrong = append(wrong, "its window was ended at "+f.mark.End.Format("15:04:05"))
	}
	if !slices.Equal(w.names, names) {
		wrong = append(wrong, fmt.Sprintf("its window is for %q, not for %q", w.names, names))
	}
	return f, w, wrong
}
