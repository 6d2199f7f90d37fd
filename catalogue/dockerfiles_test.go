package catalogue

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/catalogue/dockerfile"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/joined"
)

func dockerImage(t testing.TB) Image {
	t.Helper()
	return Image{
		Name: "web", Platforms: []string{"linux/amd64", "linux/arm64"}, Inputs: mustPatterns(t, "web", "Dockerfile"),
		Build: Build{Dockerfile: &DockerfileBuild{Path: "web/Dockerfile", Args: map[string]string{"MODE": "dev"}, Secrets: []string{"npm"}, SSH: []string{"default"}}},
	}
}

func dockerFiles(t testing.TB) []file {
	t.Helper()
	return []file{
		{path: "web/Dockerfile", content: "# syntax=docker/dockerfile:1\nARG BASE=node:24\nFROM $BASE AS build\nFROM alpine:3\nCOPY --from=build /a /a\n"},
		{path: "Dockerfile", content: "FROM alpine:3\n"}, {path: "web/main.js"}, {path: "other"},
		locked(t, "docker/dockerfile:1", digestOf("1"), "node:24", digestOf("2"), "node:25", digestOf("2"), "alpine:3", digestOf("3")),
	}
}

// What can reach an image that a Dockerfile builds changes its fingerprint, and
// nothing else does.
func TestDockerfileFingerprintChanges(t *testing.T) {
	t.Parallel()
	change := func(edit func(*Image, []file) []file) Fingerprint {
		image := dockerImage(t)
		files := edit(&image, dockerFiles(t))
		return stateOf(t, image, files...).Fingerprint
	}
	relock := func(pairs ...string) func(*Image, []file) []file {
		return func(_ *Image, f []file) []file { return append(f[:4], locked(t, pairs...)) }
	}
	one, two, three := digestOf("1"), digestOf("2"), digestOf("3")
	before := change(func(_ *Image, f []file) []file { return f })
	for name, edit := range map[string]func(*Image, []file) []file{
		"the name":       func(i *Image, f []file) []file { i.Name = "x"; return f },
		"another file":   func(_ *Image, f []file) []file { f[3].content = "x"; return f },
		"how it runs":    func(i *Image, f []file) []file { i.Run = &Run{Command: []string{"x"}}; return f },
		"another entry":  relock("docker/dockerfile:1", one, "node:24", two, "alpine:3", three, "more", three),
		"the path again": func(i *Image, f []file) []file { i.Build.Dockerfile.Path = "./web//Dockerfile"; return f },
		"platform order": func(i *Image, f []file) []file { slices.Reverse(i.Platforms); return f },
	} {
		if change(edit) != before {
			t.Errorf("%s changes the fingerprint", name)
		}
	}
	seen := map[Fingerprint]string{before: "nothing"}
	for name, edit := range map[string]func(*Image, []file) []file{
		"the frontend":   relock("docker/dockerfile:1", digestOf("9"), "node:24", two, "alpine:3", three),
		"a base":         relock("docker/dockerfile:1", one, "node:24", digestOf("9"), "alpine:3", three),
		"another base":   relock("docker/dockerfile:1", one, "node:24", two, "alpine:3", digestOf("9")),
		"bases swapped":  relock("docker/dockerfile:1", one, "node:24", three, "alpine:3", two),
		"the Dockerfile": func(_ *Image, f []file) []file { f[0].content += "#\n"; return f },
		"a file":         func(_ *Image, f []file) []file { f[2].content = "x"; return f },
		"the path":       func(i *Image, f []file) []file { i.Build.Dockerfile.Path = ""; return f },
		"the target":     func(i *Image, f []file) []file { i.Build.Dockerfile.Target = "build"; return f },
		"an argument":    func(i *Image, f []file) []file { i.Build.Dockerfile.Args["MODE"] = "prod"; return f },
		"its name":       func(i *Image, f []file) []file { i.Build.Dockerfile.Args = map[string]string{"MODUS": "dev"}; return f },
		"a base by name": func(i *Image, f []file) []file { i.Build.Dockerfile.Args["BASE"] = "node:25"; return f },
		"a secret":       func(i *Image, f []file) []file { i.Build.Dockerfile.Secrets = []string{"npm", "pip"}; return f },
		"no secret":      func(i *Image, f []file) []file { i.Build.Dockerfile.Secrets = nil; return f },
		"an agent":       func(i *Image, f []file) []file { i.Build.Dockerfile.SSH = []string{"other"}; return f },
		"a platform":     func(i *Image, f []file) []file { i.Platforms = []string{"linux/arm64"}; return f },
	} {
		got := change(edit)
		if other, taken := seen[got]; taken {
			t.Errorf("%s and %s have one fingerprint", name, other)
		}
		seen[got] = name
	}
}

// Where a base is kept is no part of it: only the digest is a field.
func TestDockerfileBaseByDigest(t *testing.T) {
	t.Parallel()
	image := dockerImage(t)
	image.Inputs = mustPatterns(t, "web/Dockerfile")
	files := dockerFiles(t)
	files[0].content = "FROM mirror.example:5000/alpine@" + digestOf("3") + "\n"
	s := stateOf(t, image, files[:4]...)
	if value(s, "dockerfile.base.0000") != digestOf("3") || !slices.Equal(s.Bases, []string{"mirror.example:5000/alpine@" + digestOf("3")}) || s.Frontend != "" {
		t.Errorf("%v, bases %v, frontend %q", s.Preimage, s.Bases, s.Frontend)
	}
}

func TestDockerfileIsUnlocked(t *testing.T) {
	t.Parallel()
	c := &Catalogue{Images: []Image{dockerImage(t)}}
	_, failed := statesOf(t, c, append(dockerFiles(t)[:4], locked(t, "node:24", digestOf("1")))...)
	e, ok := errors.AsType[*UnlockedError](failed["web"])
	if !ok || !slices.Equal(e.References, []string{"alpine:3", "docker/dockerfile:1"}) {
		t.Errorf("got %v", failed)
	}
	// Of a stage that the target does not need nothing is asked.
	c.Images[0].Build.Dockerfile.Target = "build"
	if states, failed := statesOf(t, c, append(dockerFiles(t)[:4], locked(t, "node:24", digestOf("1"), "docker/dockerfile:1", digestOf("2")))...); len(states) != 1 {
		t.Errorf("got %v", failed)
	}
}

func TestDockerfileIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit func(*Image, []file) []file
		want string // the beginning
		as   any
	}{
		"not an input": {func(i *Image, f []file) []file { i.Inputs = mustPatterns(t, "web/main.js"); return f },
			"web/Dockerfile is what builds the image, and is not among its inputs: add it to them", &InputError{}},
		"not there": {func(i *Image, f []file) []file { return f[1:] },
			"web/Dockerfile is not in the tree: correct build.dockerfile.path", &InputError{}},
		"misspelled": {func(i *Image, f []file) []file { i.Build.Dockerfile.Path = "web/Dockerfil"; return f },
			"web/Dockerfil is not in the tree; did you mean web/Dockerfile? Correct build.dockerfile.path", &InputError{}},
		"its folder misspelled": {func(i *Image, f []file) []file { i.Build.Dockerfile.Path = "wep/Dockerfile"; return f },
			"wep/Dockerfile is not in the tree; did you mean web/Dockerfile? Correct build.dockerfile.path", &InputError{}},
		"below a file": {func(i *Image, f []file) []file { i.Build.Dockerfile.Path = "web/Dockerfile/x"; return f },
			"web/Dockerfile/x is not in the tree: correct build.dockerfile.path", &InputError{}},
		"a link": {func(_ *Image, f []file) []file { f[0] = link("web/Dockerfile", "main.js"); return f },
			"web/Dockerfile is what builds the image, and must be an ordinary file", &InputError{}},
		"a directory": {func(i *Image, f []file) []file { i.Build.Dockerfile.Path = "web"; return f },
			"web is what builds the image, and must be an ordinary file", &InputError{}},
		"malformed": {func(_ *Image, f []file) []file { f[0].content = "FROM a b c\n"; return f },
			"web/Dockerfile:1: ", &dockerfile.ParseError{}},
		"no such stage": {func(i *Image, f []file) []file { i.Build.Dockerfile.Target = "gone"; return f },
			"web/Dockerfile: has no stage", &dockerfile.TargetError{}},
		"another hash": {func(_ *Image, f []file) []file {
			f[0].content = "FROM a@sha512:" + strings.Repeat("0", 128) + "\n"
			return f
		}, "web/Dockerfile", nil},
	} {
		image := dockerImage(t)
		files := c.edit(&image, dockerFiles(t))
		catalogue := &Catalogue{Images: []Image{image}}
		_, failed := statesOf(t, catalogue, files...)
		err := failed["web"]
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || len(joined.Errors(err)) != 1 {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.as != nil && fmt.Sprintf("%T", joined.Errors(err)[0]) != fmt.Sprintf("%T", c.as) {
			t.Errorf("%s: a %T", name, joined.Errors(err)[0])
		}
		refs, refErr := catalogue.References(t.Context(), makeTree(t, files...))
		if got := FailedImages(refErr); len(got) != 1 || got[0].Err.Error() != err.Error() || len(refs) > 0 {
			t.Errorf("%s: References says %v, %v", name, refs, refErr)
		}
	}
}

// A Dockerfile that cannot be read is not one that is missing.
func TestDockerfileWithoutAnObject(t *testing.T) {
	t.Parallel()
	whole := makeTree(t, dockerFiles(t)...)
	objects := &spy{Objects: whole.Objects}
	c := &Catalogue{Images: []Image{dockerImage(t)}}
	for _, path := range []string{"web", "web/Dockerfile"} {
		lost := objects.lookup(t, whole, path).ID
		tree := source.Tree{ID: whole.ID, Objects: &spy{Objects: whole.Objects, lost: func(id source.ID) bool { return id == lost }}}
		if _, err := c.States(t.Context(), tree); !errors.Is(err, source.ErrNotFound) {
			t.Errorf("without %s: States says %v", path, err)
		}
		if _, err := c.References(t.Context(), tree); !errors.Is(err, source.ErrNotFound) {
			t.Errorf("without %s: References says %v", path, err)
		}
	}
}

func TestDockerfileReferences(t *testing.T) {
	t.Parallel()
	web, api := dockerImage(t), goImage(t)
	api.Build.Go.Base = "alpine:3"
	on := dockerImage(t)
	on.Name, on.Build.Dockerfile.Args = "on-api", map[string]string{"BASE": "api"}
	c := &Catalogue{Images: []Image{web, api, on}}
	got, err := c.References(t.Context(), makeTree(t, append(goFiles(), dockerFiles(t)...)...))
	want := []Reference{{"alpine:3", []string{"api", "on-api", "web"}}, {"docker/dockerfile:1", []string{"on-api", "web"}}, {"node:24", []string{"web"}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}

// Images that share a Dockerfile read it once.
func TestDockerfileIsReadOnce(t *testing.T) {
	t.Parallel()
	tree := makeTree(t, dockerFiles(t)...)
	seen := &spy{Objects: tree.Objects}
	tree.Objects = seen
	c := &Catalogue{}
	for i := range 20 {
		image := dockerImage(t)
		image.Name = fmt.Sprint("web", i)
		c.Images = append(c.Images, image)
	}
	if _, err := c.States(t.Context(), tree); err != nil {
		t.Fatal(err)
	}
	if len(seen.blobs) != 2 {
		t.Errorf("%d blobs are read, want the Dockerfile and pharos.lock", len(seen.blobs))
	}
}
