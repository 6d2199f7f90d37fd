package dockerfile

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/moby/patternmatcher"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// Patterns one by one say what BuildKit's matcher says of all of them.
func FuzzRules(f *testing.F) {
	for _, seed := range [][2]string{
		{"**/*.log\n!keep.log\n**/keep*", "a/keep.log"}, {"a\n!a/b\na/b/c", "a/b/c"}, {"!!x\n*\n!x", "x"}, {`a\d` + "\n" + `\.git`, "a1"},
		{"**\n!**/f", "d/f"}, {"*\n! x", "x"}, {"\xff\n*\xff\n!\xfe", "\xfe"}, {"a/**\n!a/b/**", "a/b/c/d"}, {"^a\n[a-c]b\n?", "bb"}, {"docs/*.md\n!**/*.md", "docs/a.md"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, list, name string) {
		patterns := strings.Split(list, "\n")
		name = clean(name)
		want, err := patternmatcher.New(patterns)
		got, gotErr := newRules(patterns)
		if err != nil || gotErr != nil {
			if gotErr == nil {
				t.Fatalf("%q: no error, want %v", patterns, err)
			}
			return
		}
		var info patternmatcher.MatchInfo
		var each []bool
		r := &reading{limits: defaults}
		parts := strings.Split(name, "/")
		for i := range parts {
			at := path.Join(parts[:i+1]...)
			if i > 0 && len(want.Patterns()) == 0 {
				break
			}
			var matched bool
			wanted, next, err := want.MatchesUsingParentResults(at, info)
			matched, each, gotErr = r.matches(t.Context(), got, at, each)
			if matched != wanted || err != nil || gotErr != nil {
				t.Fatalf("%q of %q: %t, %v, want %t, %v", at, patterns, matched, gotErr, wanted, err)
			}
			info = next
		}
	})
}

// What takes long is counted by the bytes that are held against each other, and
// what cannot match takes nothing.
func TestComparisonsAreCountedByTheirLength(t *testing.T) {
	t.Parallel()
	var paths []string
	for i := range 100 {
		paths = append(paths, fmt.Sprintf("site/%sc%d", strings.Repeat("a", 200), i%10), fmt.Sprintf("site/%sc%dd", strings.Repeat("a", 200), i))
	}
	for _, tc := range []struct {
		pattern  string
		products int // the least that it takes, and one more than the most
		most     int
	}{
		{"site/" + strings.Repeat("*a", 400) + "*", 805 * 200 * 100, 806 * 210 * 120},
		{"**/*.c", 0, 1}, {"**/node_modules", 0, 1}, {"site/a", 0, 1}, {"site/a/**", 0, 1}, {"**/*d", 5 * 200 * 100, 5 * 210 * 120},
	} {
		r := &reading{limits: defaults}
		rules, err := newRules([]string{tc.pattern})
		if err != nil {
			t.Fatal(err)
		}
		c := newContext(tree(t, nil, paths...), rules, r)
		if _, err := c.takeBelow(t.Context(), c.root, "", filter{}, above{}); err != nil {
			t.Fatal(err)
		}
		if r.used.products < tc.products || r.used.products >= tc.most {
			t.Errorf("%.20s took %d, want %d to %d", tc.pattern, r.used.products, tc.products, tc.most)
		}
	}
}

// An ignore file of a few kilobytes must not have a small tree take minutes.
func TestManyComparisonsOfLongPatternsAreRefused(t *testing.T) {
	t.Parallel()
	ignore := strings.Repeat("site/"+strings.Repeat("*a", 400)+"?\n", 100)
	small := tree(t, map[string]string{".dockerignore": ignore}, "site/"+strings.Repeat("a", 243), "site/"+strings.Repeat("b", 243))
	few := defaults
	few.products = 100_000
	_, err := planned(t, "FROM scratch\nCOPY . /\n", Options{}).reads(t.Context(), small, few)
	if !errors.Is(err, source.ErrTooLarge) || !strings.HasPrefix(err.Error(), ".dockerignore: ") || !strings.Contains(err.Error(), "bytes of paths times bytes of the patterns") {
		t.Error(err)
	}
	var paths []string
	for i := range 100 {
		paths = append(paths, fmt.Sprintf("%s%d", strings.Repeat("a", 100), i))
	}
	_, err = planned(t, "FROM scratch\nCOPY "+strings.Repeat("?", 240)+"* /\n", Options{}).reads(t.Context(), tree(t, nil, paths...), few)
	if !errors.Is(err, source.ErrTooLarge) || strings.Contains(err.Error(), ".dockerignore") {
		t.Error(err)
	}
}

func TestLongPatternsAreRefused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("*a", maxPattern/2) + "b"
	_, err := planned(t, "FROM scratch\nCOPY . /\n", Options{}).Reads(t.Context(), tree(t, map[string]string{".dockerignore": "x\n" + long + "\n"}))
	if parse, ok := errors.AsType[*ParseError](err); !ok || parse.Line != 2 || !strings.Contains(err.Error(), "at most 1024 are read") {
		t.Error(err)
	}
	_, err = planned(t, "FROM scratch\nCOPY . /\n", Options{}).Reads(t.Context(), tree(t, map[string]string{".dockerignore": strings.Repeat("#\n", maxIgnore)}))
	if _, ok := errors.AsType[*ParseError](err); !ok || !strings.Contains(err.Error(), "at most 262144 are read") {
		t.Error(err)
	}
	_, err = planned(t, "FROM scratch\nCOPY . /\n", Options{}).Reads(t.Context(), tree(t, map[string]string{".dockerignore": strings.Repeat("#", source.MaxFile+1)}))
	if parse, ok := errors.AsType[*ParseError](err); !ok || parse.Path != ".dockerignore" || !strings.Contains(err.Error(), "at most 262144 are read") {
		t.Error(err)
	}
	for _, content := range []string{
		"FROM scratch\nCOPY --exclude=" + long + " . /\n",
		"FROM scratch AS s\n" + strings.Repeat("ONBUILD COPY --exclude="+strings.Repeat("a", 1000)+" . /\n", 200) + "FROM s\n" + strings.Repeat("COPY --exclude="+strings.Repeat("a", 1000)+" . /\n", 100),
	} {
		f, err := Parse("Dockerfile", []byte(content))
		if err == nil {
			_, err = f.Plan(Options{})
		}
		if _, ok := errors.AsType[*ParseError](err); !ok || !strings.Contains(err.Error(), " at most ") {
			t.Errorf("%.100s: %v", content, err)
		}
	}
}
