package catalogue

import (
	"context"
	"slices"
	"strings"
)

// ground is something that an image is built on.
type ground struct {
	name string // the reference without a digest, or an image's name; "" if it is not known
	id   string // the digest or the fingerprint
}

// exchange is a ground in the place of another; one is zero if there is no other.
type exchange struct{ old, new ground }

// exchanged compares what an image was built on with what it is built on now:
// what is there under the same name belongs together, and with renamed also what
// is left under other ones.
func exchanged(old, new []ground, renamed bool) []exchange {
	old, new = slices.Clone(old), slices.Clone(new)
	take := func(is func(o, n ground) bool) (taken []exchange) {
		old = slices.DeleteFunc(old, func(o ground) bool {
			i := slices.IndexFunc(new, func(n ground) bool { return is(o, n) })
			if i >= 0 {
				taken = append(taken, exchange{o, new[i]})
				new = slices.Delete(new, i, i+1)
			}
			return i >= 0
		})
		return taken
	}
	take(func(o, n ground) bool { return o == n })
	take(func(o, n ground) bool { return o.id == n.id })
	changed := take(func(o, n ground) bool { return o.name == n.name })
	if renamed {
		changed = append(changed, take(func(ground, ground) bool { return true })...)
	}
	for _, o := range old {
		changed = append(changed, exchange{old: o})
	}
	for _, n := range new {
		changed = append(changed, exchange{new: n})
	}
	return changed
}

// bases returns a reason for each image of a registry that came, went, or took
// the place of another one, whatever platform it is for.
func bases(is recorded, old, new *recorded, before, after *State) []Reason {
	file := is.dockerfile(before, after)
	var reasons []Reason
	for _, x := range exchanged(old.bases(before), new.bases(after), true) {
		reasons = append(reasons, Reason{Kind: ReasonBase, Path: file, Field: is.field, Old: x.old.pinned(), New: x.new.pinned()})
	}
	if len(reasons) == 0 { // nothing but their order
		reasons = []Reason{{Kind: ReasonBase, Path: file, Field: is.field, Old: old.value(), New: new.value()}}
	}
	return reasons
}

// bases returns what was recorded, by the names that the state still knows. Of
// several that are the same image, each is given to one line: which to which does
// not matter, since all of them say the same.
func (r *recorded) bases(state *State) []ground {
	if r == nil {
		return nil
	}
	refs := state.Bases
	if r.field == "frontend" && state.Frontend != "" {
		refs = []string{state.Frontend}
	}
	names := map[string][]string{}
	for _, ref := range refs {
		name, digest, _ := strings.Cut(ref, "@")
		names[digest] = append(names[digest], name)
	}
	var all []ground
	for _, digest := range r.texts() {
		g := ground{id: digest}
		if known := names[digest]; len(known) > 0 {
			g.name = known[0]
			names[digest] = append(known[1:], g.name)
		}
		all = append(all, g)
	}
	return all
}

// dockerfile returns the path of the Dockerfile that says so, the new one if
// there is one; "" if it is pharos.yaml that does.
func (r *recorded) dockerfile(before, after *State) string {
	if strings.HasPrefix(r.field, "build.") {
		return ""
	}
	for _, f := range slices.Concat(after.Preimage, before.Preimage) {
		if f.Key == "dockerfile.path" {
			return f.Value
		}
	}
	return ""
}

// pinned returns a reference by digest; the digest alone if that is all that is
// known.
func (g ground) pinned() *Value {
	if g.name == "" {
		return g.value()
	}
	return text(g.name + "@" + g.id)
}

func (g ground) value() *Value {
	if g == (ground{}) {
		return nil
	}
	return text(g.id)
}

// dependencies returns a reason for each image of the catalogue that changed,
// that the image came to be built on, or that it no longer is.
func (e *explainer) dependencies(ctx context.Context, is recorded, old, new *recorded, before, after *State) ([]Reason, error) {
	file := is.dockerfile(before, after)
	var reasons []Reason
	for _, x := range exchanged(e.old.dependencies(old, before), e.new.dependencies(new, after), false) {
		r := Reason{Kind: ReasonDependency, Path: file, Field: is.field, Image: x.old.name, Old: x.old.value(), New: x.new.value()}
		switch {
		case x.old == ground{}:
			r.Image = x.new.name
		case x.new != ground{} && r.Image != "" && !slices.Contains(e.told, r.Image):
			var err error
			if r.Reasons, err = e.image(ctx, r.Image); err != nil {
				return nil, err
			}
		}
		reasons = append(reasons, r)
	}
	if len(reasons) == 0 { // nothing but their order
		reasons = []Reason{{Kind: ReasonDependency, Path: file, Field: is.field, Old: old.value(), New: new.value()}}
	}
	return reasons, nil
}

// dependencies returns what was recorded, by the names of the side's images.
func (s *Side) dependencies(r *recorded, state *State) []ground {
	if r == nil {
		return nil
	}
	var all []ground
	for _, fingerprint := range r.texts() {
		g := ground{id: fingerprint}
		for _, st := range s.States {
			if string(st.Fingerprint) != fingerprint {
				continue
			}
			if declared := slices.Contains(state.Dependencies, st.Image.Name); g.name == "" || declared {
				g.name = st.Image.Name
			}
		}
		all = append(all, g)
	}
	return all
}
