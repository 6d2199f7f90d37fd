package takeover

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

func keysOf[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }

type state = catalogue.State

func commitOf(r *receipt.Record) source.ID { return source.ID(r.Commit) }

func short(id source.ID) string { return string(id[:min(len(id), 12)]) }

func contains(list []string, s string) bool { return slices.Contains(list, s) }

// reconcileFirst is what brings to the target what a workstation cannot show.
const reconcileFirst = "Reconcile first: commit it, then kubectl pharos reconcile"

// Select makes a plan of facts alone.
//
// Without names the Deployments are taken over that use an image which the working
// tree changes. With names it is those that they name, whether or not their images
// changed: "deploy/api" is a Deployment; "api" is one, too, or all that use the image
// of that name; "shop/api" is a Deployment in a namespace. A name that says more than
// one thing of these is a Deployment's.
//
// What cannot be shown blocks the plan with the complete list. With names, what the
// others use is only warned about; what would reach the target by being delivered
// still blocks.
func Select(f Facts, names ...string) Plan {
	s := &selection{Facts: f, plan: Plan{Target: f.Target, ClusterUID: f.ClusterUID, Receipt: f.Live, Tree: f.Tree, Changed: []ChangedImage{}, Workloads: []Workload{}, Covers: []string{}}}
	if s.known() {
		s.plan.Commit = commitOf(f.Record)
		s.lookAtPaths()
		s.lookAtImages()
		s.lookAtObjects()
		s.choose(names)
		s.check()
	}
	return s.plan
}

// selection is one call of Select.
type selection struct {
	Facts
	plan Plan
	// objects are the declared objects that use images of the receipt.
	objects []object
}

// object is a declared object with the images that it uses.
type object struct {
	Declared
	uses   []use
	chosen bool
}

func (s *selection) block(b Block) { s.plan.Blocked = append(s.plan.Blocked, b) }

func (s *selection) warn(subject, format string, args ...any) {
	s.plan.Warnings = append(s.plan.Warnings, lifecycle.Finding{Subject: subject, Message: fmt.Sprintf(format, args...)})
}

// known says whether it is known what runs on the target.
func (s *selection) known() bool {
	target := "target " + s.Target
	for _, u := range s.Unreadable {
		s.block(Block{Subject: target, Reason: fmt.Sprintf("%s cannot be read: %v", u.What, u.Err), Next: "See what is known of the target: kubectl pharos status"})
	}
	switch {
	case len(s.Unreadable) > 0:
	case s.Applied == "":
		s.block(Block{Subject: target, Reason: "nothing was delivered to it yet", Next: "Deliver to it first: kubectl pharos deploy"})
	case s.Live == "":
		s.block(Block{Subject: target, Reason: fmt.Sprintf("no delivery to it became healthy yet: receipt %s is only applied", s.Applied.Short()), Next: reconcileFirst})
	case s.Applied != s.Live:
		s.block(Block{Subject: target, Reason: fmt.Sprintf("the applied receipt %s is not the live one, %s: what runs is not what was healthy last", s.Applied.Short(), s.Live.Short()),
			Next: reconcileFirst})
	}
	return len(s.plan.Blocked) == 0 && s.Record != nil
}

// lookAtPaths finds the changes that reach a target only by being delivered.
func (s *selection) lookAtPaths() {
	delivered, unknown := []string{}, []string{}
	for _, c := range s.Changes {
		switch {
		case c.Class == catalogue.ClassUnknown:
			unknown = append(unknown, c.Path)
		case c.Class == catalogue.ClassDeliver,
			c.Class == catalogue.ClassBuild && (slices.Contains(s.Record.Reads, c.Path) || s.Delivery.Match(c.Path)):
			delivered = append(delivered, c.Path)
		}
	}
	if len(delivered) > 0 {
		s.block(Block{Subject: "the working tree", Reason: "what it changes is delivered, and a workstation cannot show it", Paths: delivered, Next: reconcileFirst})
	}
	if len(unknown) > 0 {
		s.block(Block{Subject: "the working tree", Reason: "no pattern of " + catalogue.FileName + " knows what it changes", Paths: unknown,
			Next: "Declare the paths as inputs, as delivery or as neutral. Then reconcile first: commit it, then kubectl pharos reconcile"})
	}
}

// lookAtImages finds the images that the working tree changes.
func (s *selection) lookAtImages() {
	for _, failed := range s.Failed {
		s.block(Block{Subject: "image " + failed.Image, Reason: fmt.Sprintf("it has no fingerprint: %v", failed.Err), Next: "See what is wrong with it: kubectl pharos images --worktree"})
	}
	for _, st := range s.States {
		known := recorded(s.Record, st.Image.Name)
		switch {
		case known == nil:
			s.plan.Changed = append(s.plan.Changed, ChangedImage{Name: st.Image.Name, Reason: "it is new"})
		case known.Fingerprint != string(st.Fingerprint):
			s.plan.Changed = append(s.plan.Changed, ChangedImage{Name: st.Image.Name, Reason: s.reason(st.Image.Name)})
		}
	}
	for _, was := range s.Record.Images {
		if _, there := s.image(was.Name); !there {
			s.block(Block{Subject: "image " + was.Name, Reason: "the working tree's catalogue has it no more", Next: reconcileFirst})
		}
	}
}

func recorded(r *receipt.Record, name string) *receipt.Image {
	i := slices.IndexFunc(r.Images, func(k receipt.Image) bool { return k.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Images[i]
}

// reason says why the fingerprint of an image is another one. What is not in files
// that the image declares does not show on a workstation.
func (s *selection) reason(image string) string {
	var reasons, paths []string
	for _, r := range s.Reasons[image] {
		if r.Kind != catalogue.ReasonInput {
			reasons = append(reasons, r.String())
			s.warn("image "+image, "%s, which what runs on a workstation does not show", r)
		}
	}
	for _, c := range s.Changes {
		if slices.Contains(c.Images, image) {
			paths = append(paths, c.Path)
		}
	}
	if len(paths) > 3 {
		paths = append(paths[:3:3], "…")
	}
	if len(paths) > 0 {
		reasons = append(reasons, "its inputs ("+strings.Join(paths, ", ")+") changed")
	}
	return cmp.Or(strings.Join(reasons, "; "), "its inputs changed")
}

// lookAtObjects finds the objects that use images.
func (s *selection) lookAtObjects() {
	for _, d := range s.Declared {
		found, err := uses(d, s.Record)
		if err != nil {
			s.block(Block{Subject: lifecycle.ObjectName(d.Object), Reason: err.Error()})
		}
		if len(found) > 0 {
			s.objects = append(s.objects, object{Declared: d, uses: found})
		}
	}
	slices.SortStableFunc(s.objects, func(a, b object) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

func (s *selection) changed(image string) bool {
	return slices.ContainsFunc(s.plan.Changed, func(c ChangedImage) bool { return c.Name == image })
}
