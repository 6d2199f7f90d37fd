package catalogue

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/joined"
)

const digest = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func goFiles() []file {
	return []file{
		{path: "go.mod", content: "module example.org/shop\n\ngo 1.26.0\n\ntoolchain go1.26.8\n"}, {path: "go.sum"},
		{path: "services/api/main.go", content: "package main"}, {path: "services/api/static/x"},
		{path: "libs/lib.go", content: "package libs"}, {path: "site/index.html"}, {path: "README.md"},
	}
}

func goImage(t testing.TB) Image {
	return Image{
		Name: "api", Platforms: []string{"linux/amd64"},
		Inputs: mustPatterns(t, "services/api", "libs", "go.mod", "go.sum"),
		Build:  Build{Go: &GoBuild{Package: "./services/api", Base: Scratch}},
	}
}

func filesImage(t testing.TB) Image {
	return Image{
		Name: "site", Platforms: []string{"linux/amd64"},
		Inputs: mustPatterns(t, "site"), Build: Build{Files: &FilesBuild{From: "site", Root: "/srv"}},
	}
}

func stateOf(t testing.TB, image Image, files ...file) State {
	t.Helper()
	c := &Catalogue{Images: []Image{image}}
	states, err := c.States(t.Context(), makeTree(t, files...))
	if err != nil {
		t.Fatal(err)
	}
	return states[0]
}

func TestState(t *testing.T) {
	t.Parallel()
	image := goImage(t)
	image.Platforms = []string{"linux/arm64", "linux/amd64"}
	image.Build.Go = &GoBuild{
		Package: "services/api/", Base: "registry.example/base" + digest, LDFlags: []string{"-w", "-s"}, Tags: []string{"b", "a"},
		Env: map[string]string{"GOAMD64": "v3", "CGO_ENABLED": "0"}, Assets: []string{"services/api/static"},
	}
	got := stateOf(t, image, goFiles()...)
	want := []Field{
		{"builder", "go"}, {"builder.version", GoBuilderVersion}, {"go.assets.0000", "services/api/static"},
		{"go.base", digest[1:]}, {"go.env.CGO_ENABLED", "0"}, {"go.env.GOAMD64", "v3"},
		{"go.ldflags.0000", "-w"}, {"go.ldflags.0001", "-s"}, {"go.package", "services/api"}, {"go.tags.0000", "a"}, {"go.tags.0001", "b"},
		{"go.toolchain", "go1.26.8"}, {"platform.0000", "linux/amd64"}, {"platform.0001", "linux/arm64"}, {"tree", string(got.Inputs.ID)},
	}
	if diff := cmp.Diff(want, got.Preimage); diff != "" {
		t.Errorf("preimage (-want +got):\n%s", diff)
	}
	if f, err := ComputeFingerprint(got.Preimage); err != nil || f != got.Fingerprint {
		t.Errorf("%s is not the fingerprint of the preimage, %s, %v", got.Fingerprint, f, err)
	}
	if got.Files != 5 || !slices.Equal(got.Bases, []string{image.Build.Go.Base}) || !slices.Equal(image.Platforms, []string{"linux/arm64", "linux/amd64"}) {
		t.Errorf("got %d files, bases %v; platforms of the argument %v", got.Files, got.Bases, image.Platforms)
	}
	if bases := stateOf(t, goImage(t), goFiles()...).Bases; len(bases) != 0 {
		t.Errorf("scratch is no base, got %v", bases)
	}
}

// What can reach an image changes its fingerprint, and nothing else does.
func TestFingerprintChanges(t *testing.T) {
	t.Parallel()
	change := func(edit func(*Image, *[]file)) Fingerprint {
		image, files := goImage(t), goFiles()
		edit(&image, &files)
		return stateOf(t, image, files...).Fingerprint
	}
	before := change(func(*Image, *[]file) {})
	for name, edit := range map[string]func(*Image, *[]file){
		"the name":               func(i *Image, _ *[]file) { i.Name = "other" },
		"another file":           func(_ *Image, f *[]file) { (*f)[6].content = "new" },
		"patterns, same files":   func(i *Image, _ *[]file) { i.Inputs = mustPatterns(t, "go.*", "libs", "services/**", "!**/*_test.go") },
		"how it runs":            func(i *Image, _ *[]file) { i.Run = &Run{Go: &GoRun{}} },
		"a spelling of the path": func(i *Image, _ *[]file) { i.Build.Go.Package = "services//api/" },
		"the default base":       func(i *Image, _ *[]file) { i.Build.Go.Base = "" },
		"the same toolchain":     func(i *Image, _ *[]file) { i.Build.Go.Toolchain = "go1.26.8" },
	} {
		if change(edit) != before {
			t.Errorf("%s changes the fingerprint", name)
		}
	}
	seen := map[Fingerprint]string{before: "nothing"}
	for name, edit := range map[string]func(*Image, *[]file){
		"content":      func(_ *Image, f *[]file) { (*f)[4].content = "package lib" },
		"a mode":       func(_ *Image, f *[]file) { (*f)[4].mode = source.ModeExecutable },
		"a type":       func(_ *Image, f *[]file) { (*f)[4] = link("libs/lib.go", ".") },
		"a new file":   func(_ *Image, f *[]file) { *f = append(*f, file{path: "libs/new"}) },
		"a file less":  func(_ *Image, f *[]file) { *f = slices.Delete(*f, 4, 5) },
		"a rename":     func(_ *Image, f *[]file) { (*f)[4].path = "libs/bil.go" },
		"go.mod":       func(_ *Image, f *[]file) { (*f)[0].content += "// x\n" },
		"the package":  func(i *Image, _ *[]file) { i.Build.Go.Package = "./libs" },
		"a platform":   func(i *Image, _ *[]file) { i.Platforms = []string{"linux/arm64"} },
		"platforms":    func(i *Image, _ *[]file) { i.Platforms = []string{"linux/amd64", "linux/arm64"} },
		"toolchain":    func(i *Image, _ *[]file) { i.Build.Go.Toolchain = "go1.26.7" },
		"base":         func(i *Image, _ *[]file) { i.Build.Go.Base = "x" + digest },
		"another base": func(i *Image, _ *[]file) { i.Build.Go.Base = "x" + strings.Replace(digest, "0", "1", 1) },
		"ldflags":      func(i *Image, _ *[]file) { i.Build.Go.LDFlags = []string{"-s", "-w"} },
		"their order":  func(i *Image, _ *[]file) { i.Build.Go.LDFlags = []string{"-w", "-s"} },
		"joined":       func(i *Image, _ *[]file) { i.Build.Go.LDFlags = []string{"-s -w"} },
		"tags":         func(i *Image, _ *[]file) { i.Build.Go.Tags = []string{"t"} },
		"environment":  func(i *Image, _ *[]file) { i.Build.Go.Env = map[string]string{"A": "1"} },
		"a variable":   func(i *Image, _ *[]file) { i.Build.Go.Env = map[string]string{"A": ""} },
		"assets":       func(i *Image, _ *[]file) { i.Build.Go.Assets = []string{"services/api/static"} },
		"more inputs":  func(i *Image, _ *[]file) { i.Inputs = mustPatterns(t, "**") },
		"files recipe": func(i *Image, _ *[]file) { i.Build = Build{Files: &FilesBuild{From: ".", Root: "/"}} },
		"files from":   func(i *Image, _ *[]file) { i.Build = Build{Files: &FilesBuild{From: "libs", Root: "/"}} },
		"files root":   func(i *Image, _ *[]file) { i.Build = Build{Files: &FilesBuild{From: ".", Root: "/srv"}} },
		"media type":   func(i *Image, _ *[]file) { i.Build = Build{Files: &FilesBuild{MediaType: "a/b"}} },
	} {
		got := change(edit)
		if other, taken := seen[got]; taken {
			t.Errorf("%s and %s have one fingerprint", name, other)
		}
		seen[got] = name
	}
	mirror := change(func(i *Image, _ *[]file) { i.Build.Go.Base = "mirror.example:5000/a/x:3" + digest })
	if seen[mirror] != "base" {
		t.Error("where the base is kept changes the fingerprint")
	}
}

// A field that is added to a recipe must enter the fingerprint, or be shown here
// not to matter.
func TestEveryRecipeFieldIsKnown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of   reflect.Type
		want string
	}{
		{reflect.TypeFor[Image](), "Name Build Inputs Platforms Run"},
		{reflect.TypeFor[Build](), "Go Dockerfile Files"},
		{reflect.TypeFor[GoBuild](), "Package LDFlags Tags Env Toolchain Base Assets"},
		{reflect.TypeFor[DockerfileBuild](), "Path Target Args Secrets SSH"},
		{reflect.TypeFor[FilesBuild](), "From Root MediaType"},
	} {
		var got []string
		for _, f := range reflect.VisibleFields(c.of) {
			got = append(got, f.Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v has the fields %v; TestFingerprintChanges and TestDockerfileFingerprintChanges know %s", c.of, got, c.want)
		}
	}
}

func TestStatesKeepsWhatWorks(t *testing.T) {
	t.Parallel()
	missing := filesImage(t)
	missing.Name, missing.Build.Files = "missing", &FilesBuild{From: "nowhere"}
	empty := filesImage(t)
	empty.Name, empty.Inputs = "empty", mustPatterns(t, "nothing")
	docker := Image{Name: "docker", Build: Build{Dockerfile: &DockerfileBuild{}}, Inputs: mustPatterns(t, "**")}
	tagged := goImage(t)
	tagged.Name, tagged.Build.Go = "tagged", &GoBuild{Package: ".", Base: "alpine:3", Assets: []string{"gone", "libs"}}
	c := &Catalogue{Images: []Image{docker, goImage(t), empty, missing, filesImage(t), tagged}}
	states, err := c.States(t.Context(), makeTree(t, goFiles()...))
	var names []string
	for _, s := range states {
		names = append(names, s.Image.Name)
	}
	if fmt.Sprint(names) != "[api site]" {
		t.Errorf("states of %v", names)
	}
	for i, want := range []struct {
		name string
		is   error
	}{{"docker", nil}, {"empty", ErrEmpty}, {"missing", nil}, {"tagged", ErrUnlocked}} {
		failed := FailedImages(fmt.Errorf("wrapped: %w", err))
		if len(failed) != 4 || failed[i].Image != want.name || want.is != nil && !errors.Is(failed[i], want.is) {
			t.Errorf("%d: got %v, want %s", i, failed, want.name)
		}
	}
	if e, ok := errors.AsType[*InputError](FailedImages(err)[2]); !ok || e.Path != "nowhere" {
		t.Errorf("got %v", err)
	}
	if got := joined.Errors(FailedImages(err)[3].Err); len(got) != 2 {
		t.Errorf("an image's errors are not all reported: %v", got)
	}
	if got := FailedImages(errors.New("other")); got != nil {
		t.Errorf("got %v", got)
	}
}

func TestStatesEndWithTheirContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := &Catalogue{Images: []Image{goImage(t), filesImage(t)}}
	if states, err := c.States(ctx, makeTree(t, goFiles()...)); !errors.Is(err, context.Canceled) || states != nil {
		t.Errorf("got %v, %v", states, err)
	}
}

// Images are computed side by side and share what they read; none of it shows.
func TestStatesDoNotDependOnEachOther(t *testing.T) {
	t.Parallel()
	c := &Catalogue{}
	for i := range 40 {
		image := goImage(t)
		image.Name = fmt.Sprint(i)
		image.Platforms = []string{fmt.Sprintf("linux/%d", i%7)}
		c.Images = append(c.Images, image)
	}
	tree := makeTree(t, goFiles()...)
	first, err := c.States(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range first {
		alone, err := (&Catalogue{Images: c.Images[i : i+1]}).States(t.Context(), tree)
		if err != nil || alone[0].Fingerprint != s.Fingerprint || s.Image.Name != fmt.Sprint(i) {
			t.Errorf("image %d: %s alone, %s among others, %v", i, alone[0].Fingerprint, s.Fingerprint, err)
		}
	}
}
