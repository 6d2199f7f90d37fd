package lifecycle

import (
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/receipt"
)

// changedSince says what differs from the image of that name in the applied
// receipt.
func changedSince(img *image, s *situation, changes []PathChange) string {
	if s.unknown() != nil {
		return "the registry has no image of this fingerprint"
	}
	if s.applied == nil {
		return "it was never built"
	}
	i := slices.IndexFunc(s.applied.Images, func(k receipt.Image) bool { return k.Name == img.status.Name })
	if i < 0 {
		return "it is new in the catalogue"
	}
	changed := changedKeys(s.applied.Images[i].Preimage, img.state.Preimage)
	if len(changed) == 0 {
		return "the registry has no image of this fingerprint"
	}
	if tree := slices.Index(changed, "tree"); tree >= 0 {
		own := slices.DeleteFunc(slices.Clone(changes), func(c PathChange) bool { return !slices.Contains(c.Images, img.status.Name) })
		changed[tree] = "its inputs (" + firstPaths(own, 3) + ")"
		if len(own) == 0 {
			changed[tree] = "its inputs"
		}
	}
	return strings.Join(changed, ", ") + " changed"
}

// changedKeys returns the keys under which two preimages differ, sorted.
func changedKeys(before []receipt.Field, after []catalogue.Field) []string {
	old := map[string]string{}
	for _, f := range before {
		old[f.Key] = f.Value
	}
	var changed []string
	for _, f := range after {
		if v, ok := old[f.Key]; !ok || v != f.Value {
			changed = append(changed, f.Key)
		}
		delete(old, f.Key)
	}
	for key := range old {
		changed = append(changed, key)
	}
	slices.Sort(changed)
	return changed
}
