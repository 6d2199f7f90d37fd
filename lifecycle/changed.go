package lifecycle

import (
	"context"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/receipt"
)

// changedSince says what differs from the image of that name in the applied
// receipt, in the words of [catalogue.Explain].
func changedSince(ctx context.Context, img *image, w *want, s *situation, changes []PathChange) string {
	if s.unknown() != nil {
		return "the registry has no image of this fingerprint"
	}
	if s.applied == nil {
		return "it was never built"
	}
	x, err := catalogue.Explain(ctx, img.status.Name, recordedSide(s.applied), catalogue.Side{States: w.states}, nil)
	if err != nil || !x.Changed {
		return "the registry has no image of this fingerprint"
	}
	var reasons []string
	for _, r := range x.Reasons {
		if r.Kind == catalogue.ReasonInput {
			reasons = append(reasons, inputsChanged(img, changes))
		} else {
			reasons = append(reasons, r.String())
		}
	}
	return strings.Join(reasons, "; ")
}

// recordedSide is what a record says of its images, without their files.
func recordedSide(r *receipt.Record) catalogue.Side {
	var side catalogue.Side
	for _, img := range r.Images {
		st := catalogue.State{Image: catalogue.Image{Name: img.Name}, Fingerprint: catalogue.Fingerprint(img.Fingerprint), Bases: img.Bases}
		for _, f := range img.Preimage {
			st.Preimage = append(st.Preimage, catalogue.Field(f))
		}
		side.States = append(side.States, st)
	}
	return side
}

// inputsChanged names the first of the paths that the plan found among the
// image's inputs.
func inputsChanged(img *image, changes []PathChange) string {
	own := slices.DeleteFunc(slices.Clone(changes), func(c PathChange) bool { return !slices.Contains(c.Images, img.status.Name) })
	if len(own) == 0 {
		return "its inputs changed"
	}
	return "its inputs (" + firstPaths(own, 3) + ") changed"
}
