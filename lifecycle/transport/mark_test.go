package transport

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// A mark by a clock that was far ahead would keep what it marks for ever: it goes,
// and the next look marks it anew.
func TestMarkOfTheFuture(t *testing.T) {
	t.Parallel()
	tree := strings.Repeat("1", 40)
	now := time.Date(2026, 3, 5, 5, 6, 8, 0, time.UTC)
	far, near := markRef(source.ID(tree), now.Add(grace+time.Second)), markRef(source.ID(tree), now.Add(grace))
	s := sortInputs(map[string]source.ID{inputsPrefix + tree: "a", far: "b"}, nil, now)
	if len(s.unmark) != 1 || s.unmark[far] != "b" || len(s.mark) != 1 || len(s.remove) != 0 {
		t.Errorf("far ahead: %+v", s)
	}
	if s = sortInputs(map[string]source.ID{inputsPrefix + tree: "a", near: "b"}, nil, now); len(s.unmark)+len(s.mark)+len(s.remove) != 0 {
		t.Errorf("a little ahead: %+v", s)
	}
}

// Whatever references a server has, nothing but inputs, marks of them, and what is
// both old and marked is touched.
func FuzzSortInputs(f *testing.F) {
	tree := strings.Repeat("1", 40)
	f.Add(inputsPrefix+tree, unusedPrefix+tree+"/20260304T050607Z", tree)
	f.Add("refs/heads/main", unusedPrefix+"/20260304T050607Z", "")
	f.Add(inputsPrefix, unusedPrefix+"x/y/20260304T050607Z", "x/y")
	f.Add(inputsPrefix+tree, unusedPrefix+tree+"/soon", "")
	f.Fuzz(func(t *testing.T, first, second, needed string) {
		now := time.Date(2026, 3, 5, 5, 6, 8, 0, time.UTC)
		refs := map[string]source.ID{first: "a", second: "b"}
		s := sortInputs(refs, []source.ID{source.ID(needed)}, now)
		for _, tree := range s.mark {
			if _, is := refs[inputsPrefix+string(tree)]; !is || string(tree) == needed {
				t.Errorf("marks %q", tree)
			}
			if got, since, ok := parseMark(markRef(tree, now)); !ok || got != tree || !since.Equal(now) {
				t.Errorf("the mark of %q is read as %q of %v", tree, got, since)
			}
		}
		for ref := range s.unmark {
			if _, _, ok := parseMark(ref); !ok {
				t.Errorf("takes %q for a mark", ref)
			}
		}
		for _, group := range s.remove {
			tree, is := strings.CutPrefix(group[0].ref, inputsPrefix)
			if !is || tree == needed || len(group) < 2 {
				t.Errorf("removes %v", group)
			}
			for _, u := range group[1:] {
				marked, since, ok := parseMark(u.ref)
				if !ok || string(marked) != tree || now.Sub(since) <= grace && len(group) == 2 {
					t.Errorf("removes %q with the mark %q", tree, u.ref)
				}
			}
			if slices.ContainsFunc(group, func(u update) bool { return u.new != "" || u.old == "" }) {
				t.Errorf("does not only remove: %v", group)
			}
		}
	})
}
