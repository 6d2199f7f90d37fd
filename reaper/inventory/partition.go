package inventory

import (
	"strings"
	"time"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
)

// bucket is where an object belongs, before anything is compared.
type bucket int

const (
	leftOut   bucket = iota // the system's, Pharos's own, or what ends with its owner
	declared                // an object of the declaration
	orphaned                // one of an earlier declaration
	elsewhere               // what somebody else declares
	transient               // what says that it ends
	covered                 // what ends with its namespace
	durable                 // what nobody declares and that does not end
	other                   // all else
)

// partition tells objects apart by what they and their namespaces say, and by the
// names of what is declared. It compares nothing.
type partition struct {
	rules reaper.Rules
	now   time.Time
	// target is the value of the label on our objects; known says that there is a
	// declaration, so that one that it does not have is an orphan.
	target   string
	known    bool
	declared map[Ref]bool
	orphans  map[Ref]bool
	// ending are the namespaces that are transient.
	ending map[string]bool
}

func refOf(o reaper.Object) Ref { return Ref{o.Group, o.Kind, o.Namespace, o.Name} }

// place says where an object belongs, and what the reaper decides about it.
func (p *partition) place(o reaper.Object) (bucket, reaper.Decision) {
	ref, d := refOf(o), p.rules.Decide(o, p.now)
	if p.declared[ref] {
		return declared, d
	}
	tool, _ := reaper.DeclarerOf(o)
	switch says := d.Reason != reaper.NoIntent && d.Reason != reaper.IsRetained; {
	case o.Owned, p.rules.Protects(o) != "":
		return leftOut, d
	case p.orphans[ref] || p.known && p.target != "" && o.Labels[keys.Target] == p.target:
		return orphaned, d
	case own(o):
		return leftOut, d
	case says:
		return transient, d
	case tool != "":
		return elsewhere, d
	case p.ending[o.Namespace] && reaper.Outlives(o) == "":
		return covered, d
	case d.Reason == reaper.IsRetained, durableKind(o):
		return durable, d
	}
	return other, d
}

// own says that an object is one in which Pharos keeps what it knows.
func own(o reaper.Object) bool {
	for _, label := range []string{keys.ReceiptsOf, keys.LeaseTarget, keys.BuildOf} {
		if _, is := o.Labels[label]; is {
			return true
		}
	}
	return o.Labels[keys.ManagedBy] == keys.Manager
}

// stateful are the kinds of Kubernetes itself that hold what cannot be made again.
var stateful = map[[2]string]bool{
	{"", "PersistentVolumeClaim"}:                        true,
	{"", "PersistentVolume"}:                             true,
	{"apps", "StatefulSet"}:                              true,
	{"snapshot.storage.k8s.io", "VolumeSnapshotContent"}: true,
}

// durableKind says whether objects of the kind stay until somebody deletes them, and
// are worth a name: volumes, snapshots, StatefulSets, and whatever is a custom
// resource, since that may be a database.
func durableKind(o reaper.Object) bool {
	custom := strings.Contains(o.Group, ".") && !strings.HasSuffix(o.Group, ".k8s.io")
	return custom || stateful[[2]string{o.Group, o.Kind}] || reaper.Durable(o.Group, o.Kind)
}

// derived are kinds that controllers make of others without owning them, and that say
// nothing of what somebody made.
var derived = map[string]bool{"EndpointSlice": true, "Lease": true, "ControllerRevision": true}
