package receipt

import (
	"slices"
	"strings"
)

// DiffType says what became of something from one record to another.
type DiffType string

// The types of difference.
const (
	DiffAdded   DiffType = "added"
	DiffRemoved DiffType = "removed"
	DiffChanged DiffType = "changed"
)

// Difference is what two records do not have in common. Their places in the
// chain, Parent and RollbackOf, are not compared: they say nothing of what was
// delivered.
type Difference struct {
	// Fields are those of the record itself: "target.name", "target.clusterUID",
	// "commit", "tree", "catalogue", "renderer".
	Fields  []FieldDiff  `json:"fields,omitempty"`
	Images  []ImageDiff  `json:"images,omitempty"`  // by name
	Reads   []ReadDiff   `json:"reads,omitempty"`   // by path
	Objects []ObjectDiff `json:"objects,omitempty"` // in the order of CompareObjects
}

// FieldDiff is a value in both records; an empty one is none. Lists stand with a
// comma between their items.
type FieldDiff struct {
	Field string `json:"field"`
	Old   string `json:"old,omitempty"`
	New   string `json:"new,omitempty"`
}

// ImageDiff is an image that differs.
type ImageDiff struct {
	Name string   `json:"name"`
	Type DiffType `json:"type"`
	// Fields are "fingerprint", "digest", "repository", "platforms", "bases" and
	// "toolchain".
	Fields []FieldDiff `json:"fields,omitempty"`
	// Inputs are the lines of the fingerprint's preimage, by their keys: why the
	// fingerprint differs.
	Inputs []FieldDiff `json:"inputs,omitempty"`
}

// ReadDiff is a path that only one of the renderings read.
type ReadDiff struct {
	Path string   `json:"path"`
	Type DiffType `json:"type"`
}

// ObjectDiff is an object that differs: what was applied of it, its resource, or
// its version.
type ObjectDiff struct {
	Type DiffType `json:"type"`
	Old  *Object  `json:"old,omitempty"`
	New  *Object  `json:"new,omitempty"`
}

// Object is the newer object, or the one that was removed.
func (d ObjectDiff) Object() Object {
	if d.New != nil {
		return *d.New
	}
	return *d.Old
}

// Empty says that the records deliver the same.
func (d Difference) Empty() bool {
	return len(d.Fields) == 0 && len(d.Images) == 0 && len(d.Reads) == 0 && len(d.Objects) == 0
}

// Diff compares two valid records.
func Diff(old, new Record) Difference {
	return Difference{
		Fields: fields(
			FieldDiff{"target.name", old.Target.Name, new.Target.Name},
			FieldDiff{"target.clusterUID", old.Target.ClusterUID, new.Target.ClusterUID},
			FieldDiff{"commit", old.Commit, new.Commit},
			FieldDiff{"tree", old.Tree, new.Tree},
			FieldDiff{"catalogue", old.Catalogue, new.Catalogue},
			FieldDiff{"renderer", old.Renderer.Name + " " + old.Renderer.Version, new.Renderer.Name + " " + new.Renderer.Version},
		),
		Images:  diffImages(old.Images, new.Images),
		Reads:   diffReads(old.Reads, new.Reads),
		Objects: diffObjects(old.Objects, new.Objects),
	}
}

// fields returns those that differ.
func fields(all ...FieldDiff) []FieldDiff {
	all = slices.DeleteFunc(all, func(f FieldDiff) bool { return f.Old == f.New })
	if len(all) == 0 {
		return nil
	}
	return all
}

func diffImages(old, new []Image) (diffs []ImageDiff) {
	join(old, new, func(a, b Image) int { return strings.Compare(a.Name, b.Name) }, func(a, b *Image) {
		d := ImageDiff{Type: DiffChanged}
		var before, after Image
		if a == nil {
			d.Type = DiffAdded
		} else {
			d.Name, before = a.Name, *a
		}
		if b == nil {
			d.Type = DiffRemoved
		} else {
			d.Name, after = b.Name, *b
		}
		list := func(s []string) string { return strings.Join(s, ",") }
		d.Fields = fields(
			FieldDiff{"fingerprint", before.Fingerprint, after.Fingerprint},
			FieldDiff{"digest", before.Digest, after.Digest},
			FieldDiff{"repository", before.Repository, after.Repository},
			FieldDiff{"platforms", list(before.Platforms), list(after.Platforms)},
			FieldDiff{"bases", list(before.Bases), list(after.Bases)},
			FieldDiff{"toolchain", before.Toolchain, after.Toolchain},
		)
		d.Inputs = diffPreimages(before.Preimage, after.Preimage)
		if len(d.Fields) > 0 || len(d.Inputs) > 0 {
			diffs = append(diffs, d)
		}
	})
	return diffs
}

func diffPreimages(old, new []Field) (diffs []FieldDiff) {
	join(old, new, func(a, b Field) int { return strings.Compare(a.Key, b.Key) }, func(a, b *Field) {
		d := FieldDiff{}
		if a != nil {
			d.Field, d.Old = a.Key, a.Value
		}
		if b != nil {
			d.Field, d.New = b.Key, b.Value
		}
		if a == nil || b == nil || d.Old != d.New {
			diffs = append(diffs, d)
		}
	})
	return diffs
}

func diffReads(old, new []string) (diffs []ReadDiff) {
	join(old, new, strings.Compare, func(a, b *string) {
		switch {
		case a == nil:
			diffs = append(diffs, ReadDiff{*b, DiffAdded})
		case b == nil:
			diffs = append(diffs, ReadDiff{*a, DiffRemoved})
		}
	})
	return diffs
}

func diffObjects(old, new []Object) (diffs []ObjectDiff) {
	join(old, new, CompareObjects, func(a, b *Object) {
		switch {
		case a == nil:
			diffs = append(diffs, ObjectDiff{Type: DiffAdded, New: b})
		case b == nil:
			diffs = append(diffs, ObjectDiff{Type: DiffRemoved, Old: a})
		case *a != *b:
			diffs = append(diffs, ObjectDiff{Type: DiffChanged, Old: a, New: b})
		}
	})
	return diffs
}

// join calls f for each item of two lists, with both where they compare as the
// same, in their order. Of items that compare as the same in one list, each has a
// partner of its own.
func join[T any](old, new []T, compare func(a, b T) int, f func(a, b *T)) {
	old, new = slices.Clone(old), slices.Clone(new)
	slices.SortStableFunc(old, compare)
	slices.SortStableFunc(new, compare)
	for i, j := 0, 0; i < len(old) || j < len(new); {
		switch {
		case j == len(new) || i < len(old) && compare(old[i], new[j]) < 0:
			f(&old[i], nil)
			i++
		case i == len(old) || compare(old[i], new[j]) > 0:
			f(nil, &new[j])
			j++
		default:
			f(&old[i], &new[j])
			i, j = i+1, j+1
		}
	}
}
