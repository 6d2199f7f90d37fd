package catalogue

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/internal/joined"
)

// onBases are Go images by name, each put on that base.
func onBases(t testing.TB, bases map[string]string) *Catalogue {
	t.Helper()
	c := &Catalogue{}
	for _, name := range slices.Sorted(maps.Keys(bases)) {
		image := goImage(t)
		image.Name = name
		image.Build.Go = &GoBuild{Package: "./services/api", Base: bases[name]}
		c.Images = append(c.Images, image)
	}
	return c
}

// locked is a pharos.lock of pairs of references and digests.
func locked(t testing.TB, pairs ...string) file {
	t.Helper()
	lock := Lock{Images: map[string]string{}}
	for pair := range slices.Chunk(pairs, 2) {
		lock.Images[pair[0]] = pair[1]
	}
	data, err := lock.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return file{path: LockFileName, content: string(data)}
}

func value(s State, key string) string {
	for _, f := range s.Preimage {
		if f.Key == key {
			return f.Value
		}
	}
	return ""
}

// statesOf returns the states by name, and the errors of the others by name.
func statesOf(t testing.TB, c *Catalogue, files ...file) (map[string]State, map[string]error) {
	t.Helper()
	states, err := c.States(t.Context(), makeTree(t, files...))
	byName, failed := map[string]State{}, map[string]error{}
	for _, s := range states {
		byName[s.Image.Name] = s
	}
	for _, e := range FailedImages(err) {
		failed[e.Image] = e.Err
	}
	if len(byName)+len(failed) != len(c.Images) {
		t.Fatalf("%d states and %d errors of %d images: %v", len(byName), len(failed), len(c.Images), err)
	}
	return byName, failed
}

func TestBaseIsLocked(t *testing.T) {
	t.Parallel()
	c := onBases(t, map[string]string{"api": "alpine:3"})
	with := func(files ...file) State {
		states, failed := statesOf(t, c, append(goFiles(), files...)...)
		if len(failed) > 0 {
			t.Fatal(failed)
		}
		return states["api"]
	}
	one := with(locked(t, "alpine:3", digestOf("1"), "docker.io/library/alpine:3", digestOf("2")))
	if value(one, "go.base") != digestOf("1") || !slices.Equal(one.Bases, []string{"alpine:3@" + digestOf("1")}) || len(one.Dependencies) > 0 {
		t.Errorf("%v, bases %v, dependencies %v", one.Preimage, one.Bases, one.Dependencies)
	}
	if two := with(locked(t, "alpine:3", digestOf("2"))); two.Fingerprint == one.Fingerprint {
		t.Error("another digest has the same fingerprint")
	}
	if more := with(locked(t, "alpine:3", digestOf("1"), "golang:1", digestOf("2"))); more.Fingerprint != one.Fingerprint {
		t.Error("another entry changes the fingerprint")
	}
	written, _ := statesOf(t, onBases(t, map[string]string{"api": "mirror.example/a@" + digestOf("1")}), goFiles()...)
	if written["api"].Fingerprint != one.Fingerprint {
		t.Error("a digest in the recipe and the same one in the lock have two fingerprints")
	}
	// The reference as it is written counts.
	for _, lock := range [][]file{nil, {locked(t, "docker.io/library/alpine:3", digestOf("1"), "alpine", digestOf("1"))}} {
		_, failed := statesOf(t, c, append(goFiles(), lock...)...)
		e, ok := errors.AsType[*UnlockedError](failed["api"])
		if !ok || !errors.Is(failed["api"], ErrUnlocked) || !slices.Equal(e.References, []string{"alpine:3"}) || !strings.Contains(e.Error(), "kubectl pharos lock") {
			t.Errorf("with %v: %v", lock, failed)
		}
	}
}

func TestBaseIsAnImageOfTheCatalogue(t *testing.T) {
	t.Parallel()
	c := onBases(t, map[string]string{"api": "base", "base": "below", "below": Scratch, "other": "base:1"})
	lock := locked(t, "base:1", digestOf("1"), "base", digestOf("2"))
	states, failed := statesOf(t, c, append(goFiles(), lock)...)
	if len(failed) > 0 {
		t.Fatal(failed)
	}
	api := states["api"]
	if !slices.Equal(api.Dependencies, []string{"base"}) || len(api.Bases) > 0 || value(api, "go.image") != string(states["base"].Fingerprint) || value(api, "go.base") != "" {
		t.Errorf("dependencies %v, bases %v, preimage %v", api.Dependencies, api.Bases, api.Preimage)
	}
	if value(states["other"], "go.base") != digestOf("1") || len(states["other"].Dependencies) > 0 {
		t.Errorf("a name with a tag is no image of the catalogue: %v", states["other"].Preimage)
	}
	c.Images[2].Build.Go.Base = "x@" + digestOf("3") // of below
	after, _ := statesOf(t, c, append(goFiles(), lock)...)
	for name, changes := range map[string]bool{"api": true, "base": true, "below": true, "other": false} {
		if (after[name].Fingerprint != states[name].Fingerprint) != changes {
			t.Errorf("%s: changed is %v, want %v", name, !changes, changes)
		}
	}
	// The name is no part of it.
	renamed := onBases(t, map[string]string{"api": "zzz", "zzz": "below", "below": "x@" + digestOf("3")})
	again, _ := statesOf(t, renamed, goFiles()...)
	if again["api"].Fingerprint != after["api"].Fingerprint {
		t.Error("the name of what an image is built on changes its fingerprint")
	}
}

func TestCycles(t *testing.T) {
	t.Parallel()
	c := onBases(t, map[string]string{"a": "b", "b": "c", "c": "a", "d": "c", "e": "d", "self": "self", "on-self": "self", "fine": Scratch, "on-fine": "fine"})
	states, failed := statesOf(t, c, goFiles()...)
	if got := slices.Sorted(maps.Keys(states)); !slices.Equal(got, []string{"fine", "on-fine"}) {
		t.Errorf("states of %v", got)
	}
	got := map[string]string{}
	for name, err := range failed {
		got[name] = err.Error()
	}
	round := "is built on itself: a → b → c → a"
	want := map[string]string{
		"a": round, "b": round, "c": round,
		"d":       "is built on c, of which there is no fingerprint: correct what is wrong there first",
		"e":       "is built on d, of which there is no fingerprint: correct what is wrong there first",
		"self":    "is built on itself: self → self; write the base with its tag or registry if it is another image",
		"on-self": "is built on self, of which there is no fingerprint: correct what is wrong there first",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if e, ok := errors.AsType[*CycleError](failed["b"]); !ok || !slices.Equal(e.Images, []string{"a", "b", "c"}) {
		t.Errorf("got %v", failed["b"])
	}
}

func TestLongCycleIsPrintedInPart(t *testing.T) {
	t.Parallel()
	bases := map[string]string{}
	for i := range 300 {
		bases[fmt.Sprintf("i%03d", i)] = fmt.Sprintf("i%03d", (i+1)%300)
	}
	_, failed := statesOf(t, onBases(t, bases), goFiles()...)
	text := failed["i150"].Error()
	if len(failed) != 300 || !strings.HasPrefix(text, "is built on itself: i000 → i001 → ") || !strings.HasSuffix(text, " → i099 → … 200 more → i000") {
		t.Errorf("%d errors: %s", len(failed), text)
	}
}

// All that keeps an image from its fingerprint is reported at once, and only its
// own.
func TestFailedDependencies(t *testing.T) {
	t.Parallel()
	c := onBases(t, map[string]string{"api": "base", "base": "alpine:3"})
	c.Images[0].Build.Go.Assets = []string{"gone"}
	_, failed := statesOf(t, c, goFiles()...)
	if got := joined.Errors(failed["api"]); len(got) != 2 || errors.Is(failed["api"], ErrUnlocked) {
		t.Errorf("got %v", got)
	}
	if e, ok := errors.AsType[*DependencyError](failed["api"]); !ok || !slices.Equal(e.Images, []string{"base"}) {
		t.Errorf("got %v", failed["api"])
	}
	if !errors.Is(failed["base"], ErrUnlocked) {
		t.Errorf("got %v", failed["base"])
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	c := onBases(t, map[string]string{"b": "alpine:3", "a": "alpine:3", "c": "b", "d": "x@" + digestOf("1"), "e": Scratch, "f": "", "g": "alpine:3@" + digestOf("1"), "h": "Registry.example/x"})
	got, err := c.References(t.Context(), makeTree(t, append(goFiles(), locked(t, "alpine:3", digestOf("1")))...))
	want := []Reference{{Reference: "Registry.example/x", Images: []string{"h"}}, {Reference: "alpine:3", Images: []string{"a", "b"}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, -want +got\n%s", err, diff)
	}
}
