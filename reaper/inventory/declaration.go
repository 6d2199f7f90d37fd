package inventory

import (
	"context"
	"slices"

	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// Declaration is what is meant to be on the target, such as the objects of the receipt
// that was applied last, and what its keeper already knows of them.
type Declaration struct {
	// Of names it for people, such as "receipt 3f2a9c81b0d2".
	Of string
	// Objects are looked for wherever they are. Those in namespaces that are not looked
	// into are asked for by name.
	Objects []DeclaredObject
	// Orphans are objects of earlier declarations that are still there, beside those
	// that carry the label of Config.Target.
	Orphans []Ref
}

// DeclaredObject is one object of a Declaration.
type DeclaredObject struct {
	Ref
	// MayBeGone says that it is no fault if it is not there, as of a Job that ran to
	// its end.
	MayBeGone bool
	// Seen says that the keeper has just found it there: that counts for kinds that
	// are not listed here.
	Seen bool
	// Drift names the fields in which it differs from what was applied, and who may
	// have changed them; empty if it does not differ or is not there.
	Drift string
}

// compare tells what became of the declared objects.
func (l *look) compare(ctx context.Context) {
	l.report.Declared.Known = l.request.Declared != nil
	if l.request.Declared == nil {
		return
	}
	d := &l.report.Declared
	objects := l.request.Declared.Objects
	d.Of, d.Objects = l.request.Declared.Of, len(objects)
	there := l.lookUp(ctx, objects)
	for n, o := range objects {
		switch {
		case there[n] == isThere:
			d.Found++
			if o.Drift != "" {
				d.Drifted = append(d.Drifted, Drift{o.Ref, o.Drift})
				l.find(Drifted, &o.Ref, l.resourceOf(o.Ref), o.Drift)
			}
		case there[n] == notKnown:
			d.Unknown = append(d.Unknown, o.Ref)
		case !o.MayBeGone:
			d.Missing = append(d.Missing, o.Ref)
			l.find(Missing, &o.Ref, l.resourceOf(o.Ref), "it is declared, and not there")
		}
	}
	slices.SortFunc(d.Missing, Ref.compare)
	slices.SortFunc(d.Unknown, Ref.compare)
	slices.SortFunc(d.Drifted, func(a, b Drift) int { return a.Object.compare(b.Object) })
}

// presence is what is known of whether an object is there.
type presence int

const (
	notThere presence = iota
	isThere
	notKnown
)

// lookUp says of each declared object whether it is there: by the lists, by whoever
// hands in the declaration, or else by a request of its own.
func (l *look) lookUp(ctx context.Context, objects []DeclaredObject) []presence {
	there, gaps := make([]presence, len(objects)), make([]*Gap, len(objects))
	l.each(ctx, len(objects), func(n int) {
		o := objects[n].Ref
		r, served := l.kinds[[2]string{o.Group, o.Kind}]
		switch {
		case l.found[o], objects[n].Seen && !l.complete(r, o.Namespace):
			there[n] = isThere
		case !served && (l.stale[o.Group] || l.unready):
			there[n] = notKnown // the gap is the group's or the server's
		case !served, l.complete(r, o.Namespace):
		default:
			it, err := l.inventory.get(ctx, r, o.Namespace, o.Name)
			switch {
			case err == nil:
				there[n] = isThere
				l.mu.Lock()
				l.parked(r, seen{Object: it})
				l.mu.Unlock()
			case !kubeclient.NotFound(err):
				gap := gapOf(r, o.Namespace, o.Name, err)
				there[n], gaps[n] = notKnown, &gap
			}
		}
	})
	for _, g := range gaps {
		if g != nil {
			l.gap(*g)
		}
	}
	return there
}
