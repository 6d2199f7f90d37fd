package catalogue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// Side is one of the two sides that Explain compares: the images of a tree, or
// those that were recorded of one.
type Side struct {
	// Tree is the whole tree. Its zero value says that it is not at hand, such
	// as that of a commit that was never fetched.
	Tree source.Tree
	// States are the images that have a fingerprint. Of one that was recorded,
	// the Image's Name, the Fingerprint, the Preimage and the Bases are enough;
	// without Inputs, which of them changed cannot be told.
	States []State
	// Err is the error of Catalogue.States, which says of other images why they
	// have none.
	Err error
	// others are the names of the images that were not asked for.
	others []string
}

// SideOf returns the side of a tree: the states of its own catalogue, or only
// those of the images named and of those that they are built on, which is all
// that Explain asks of one of them. The error is one of Load, or of States if it
// is not about single images.
func SideOf(ctx context.Context, tree source.Tree, images ...string) (Side, error) {
	c, err := Load(ctx, tree)
	if err != nil {
		return Side{}, err
	}
	s := Side{Tree: tree}
	if len(images) == 0 {
		s.States, s.Err = c.States(ctx, tree)
	} else {
		s.States, s.Err = c.StatesOf(ctx, tree, images...)
	}
	if s.Err != nil && len(FailedImages(s.Err)) == 0 {
		return Side{}, s.Err
	}
	if len(images) > 0 {
		known := s.Images()
		for _, image := range c.Images {
			if !slices.Contains(known, image.Name) {
				s.others = append(s.others, image.Name)
			}
		}
	}
	return s, nil
}

// Images returns the names of all images of the side: first of those that have
// a fingerprint, then of those that have none, last of those that SideOf was not
// asked for, each group in the catalogue's order.
func (s Side) Images() []string {
	var names []string
	for _, st := range s.States {
		names = append(names, st.Image.Name)
	}
	for _, f := range FailedImages(s.Err) {
		names = append(names, f.Image)
	}
	return append(names, s.others...)
}

// state returns the image's state, or why it has none; neither if the side does
// not have the image.
func (s Side) state(image string) (*State, error) {
	if i := slices.IndexFunc(s.States, func(st State) bool { return st.Image.Name == image }); i >= 0 {
		return &s.States[i], nil
	}
	for _, f := range FailedImages(s.Err) {
		if f.Image == image {
			return nil, f.Err
		}
	}
	return nil, nil
}

// ErrUnknownImage is matched by the error of Explain for an image that neither
// side has.
var ErrUnknownImage = errors.New("unknown image")

// Explanation says why an image changed between two sides, or that it did not.
type Explanation struct {
	Image string
	// Changed says that the fingerprints differ, or that one side has none.
	Changed bool
	// Old and New are the fingerprints; empty if a side has none.
	Old, New Fingerprint
	// OldErr and NewErr say why a side that has the image has no fingerprint.
	OldErr, NewErr error
	// Reasons are all reasons for a change, inputs first, sorted by path, then
	// the others, sorted by field. There is none without a change, nor where
	// OldErr or NewErr says it all.
	Reasons []Reason
	// Others are the paths that differ between the two trees, in their order,
	// if the image is unchanged: none of them is an input. There are none if a
	// tree is not at hand.
	Others []PathClass
}

// Explain says why an image has another fingerprint on one side than on the
// other, by what the fingerprints were computed of: every reason, and nothing
// but these. It is a pure function of the two sides. reads are the paths that
// the last render read, for the classes of Others.
//
// The error matches ErrUnknownImage if neither side has the image, and is
// otherwise one of Classify or of source.Diff.
func Explain(ctx context.Context, image string, old, new Side, reads []string) (Explanation, error) {
	e := explainer{old: old, new: new}
	x := Explanation{Image: image}
	before, oldErr := old.state(image)
	after, newErr := new.state(image)
	x.OldErr, x.NewErr = oldErr, newErr
	if before != nil {
		x.Old = before.Fingerprint
	}
	if after != nil {
		x.New = after.Fingerprint
	}
	x.Changed = x.Old != x.New || x.OldErr != nil || x.NewErr != nil
	var err error
	switch {
	case before == nil && after == nil && oldErr == nil && newErr == nil:
		return x, fmt.Errorf("%w %q", ErrUnknownImage, image)
	case x.Changed:
		x.Reasons, err = e.image(ctx, image)
	case old.Tree.Objects != nil && new.Tree.Objects != nil:
		x.Others, err = Classify(ctx, old.Tree, new.Tree, reads)
	}
	return x, err
}

type explainer struct {
	old, new Side
	told     []string // the images whose reasons are given already
}

// image returns the reasons of one image.
func (e *explainer) image(ctx context.Context, name string) ([]Reason, error) {
	e.told = append(e.told, name)
	before, oldErr := e.old.state(name)
	after, newErr := e.new.state(name)
	switch {
	case oldErr != nil || newErr != nil:
		return nil, nil
	case before == nil:
		return []Reason{{Kind: ReasonRecipe, Change: ChangeAdded}}, nil
	case after == nil:
		return []Reason{{Kind: ReasonRecipe, Change: ChangeRemoved}}, nil
	case before.Fingerprint == after.Fingerprint:
		return nil, nil
	}
	return e.states(ctx, before, after)
}

// states returns the reasons why two states of an image differ.
func (e *explainer) states(ctx context.Context, before, after *State) ([]Reason, error) {
	reasons := explainSchema(before, after)
	old, new := before.Preimage, after.Preimage
	if len(old) == 0 || len(new) == 0 {
		old, new = nil, nil // recorded without: nothing more can be told
	}
	err := changedFields(old, new, func(is recorded, old, new *recorded) error {
		var more []Reason
		var err error
		switch is.kind {
		case ReasonInput:
			more, err = explainInputs(ctx, old, new, before.Inputs, after.Inputs)
		case ReasonBase:
			more = bases(is, old, new, before, after)
		case ReasonDependency:
			more, err = e.dependencies(ctx, is, old, new, before, after)
		default:
			more = []Reason{{Kind: is.kind, Field: is.field, Path: elsewhere(ctx, is, after), Old: old.value(), New: new.value()}}
		}
		reasons = append(reasons, more...)
		return err
	})
	if len(reasons) == 0 { // both were computed in a way that this version does not know
		reasons = []Reason{{Kind: ReasonSchema}}
	}
	slices.SortStableFunc(reasons, func(a, b Reason) int { return cmp.Compare(rank[a.Kind], rank[b.Kind]) })
	return reasons, err
}

// elsewhere returns the file that a value of a recipe comes from, "" if that is
// pharos.yaml or cannot be told.
func elsewhere(ctx context.Context, is recorded, state *State) string {
	b := state.Image.Build.Go
	if is.field != "build.go.toolchain" || b == nil || state.Inputs.Objects == nil {
		return ""
	}
	t, err := GoToolchain(ctx, *b, state.Inputs)
	if err != nil || t.From == FileName {
		return ""
	}
	return t.From
}

// rank is the order of reasons: what changes most often stands first.
var rank = map[ReasonKind]int{ReasonInput: 0, ReasonRecipe: 1, ReasonBase: 2, ReasonDependency: 3, ReasonBuilder: 4, ReasonSchema: 5}

// explainSchema says whether the states' fingerprints were computed in different
// ways. They do not name theirs, but one that is not what this version makes of
// the same fields was not computed by it.
func explainSchema(before, after *State) []Reason {
	old, new := before.current(), after.current()
	if old == new {
		return nil
	}
	r := Reason{Kind: ReasonSchema}
	if old {
		r.Old = text(FingerprintSchema)
	} else {
		r.New = text(FingerprintSchema)
	}
	return []Reason{r}
}

// current says whether the fingerprint is what this version makes of the fields.
func (s *State) current() bool {
	f, err := ComputeFingerprint(s.Preimage)
	return err == nil && f == s.Fingerprint
}
