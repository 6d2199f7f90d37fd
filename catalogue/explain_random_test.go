package catalogue

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/sizetest"
)

// Over random trees and recipes: an image is said to have changed exactly when
// its fingerprint did, every field and every file that differs is named by a
// reason, and nothing else is.
func TestExplainNamesEverythingThatChanged(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	kinds := map[ReasonKind]int{}
	unchanged, webs := 0, 0
	for range sizetest.Of(200, 500) {
		files, images := explainedFiles(r), randomImages(t, r)
		editedFiles, editedImages := files, images
		if r.IntN(8) > 0 {
			editedFiles, editedImages = edited(r, files), randomImages(t, r)
		}
		old, new := sideOf(t, files, images...), sideOf(t, editedFiles, editedImages...)
		for _, before := range old.States {
			after, err := new.state(before.Image.Name)
			if err != nil || after == nil {
				continue
			}
			x := explained(t, before.Image.Name, old, new)
			if x.Changed != (before.Fingerprint != after.Fingerprint) {
				t.Fatalf("%s: changed is %v, fingerprints are %s and %s", x.Image, x.Changed, before.Fingerprint, after.Fingerprint)
			}
			if !x.Changed {
				unchanged++
			} else if x.Image == "web" {
				webs++
			}
			want, got := changesByHand(t, before, *after), map[string]bool{}
			for _, reason := range x.Reasons {
				got[told(reason)] = true
				kinds[reason.Kind]++
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s (-want +got):\n%s\nold %v\nnew %v", x.Image, diff, before.Preimage, after.Preimage)
			}
			alone := explained(t, x.Image, onlyOf(t, x.Image, files, images), onlyOf(t, x.Image, editedFiles, editedImages))
			if diff := cmp.Diff(x, alone, cmpopts.EquateErrors()); diff != "" {
				t.Fatalf("%s, of all images and of those that it is built on alone (-all +alone):\n%s", x.Image, diff)
			}
		}
	}
	if unchanged < 50 || kinds[ReasonInput] < 50 || kinds[ReasonRecipe] < 50 || kinds[ReasonBase] < 50 || kinds[ReasonDependency] < 50 || webs < 100 {
		t.Errorf("the cases are lopsided: %d unchanged, %d of Dockerfiles, %v", unchanged, webs, kinds)
	}
}

// onlyOf is sideOf for an image and those that it is built on.
func onlyOf(t testing.TB, image string, files []file, images []Image) Side {
	t.Helper()
	states, err := (&Catalogue{Images: images}).StatesOf(t.Context(), makeTree(t, files...), image)
	if err != nil && len(FailedImages(err)) == 0 {
		t.Fatal(err)
	}
	if len(states) > 2 {
		t.Fatalf("of %s there are the states of %d images", image, len(states))
	}
	return Side{States: states, Err: err}
}

// told names what a reason is about as changesByHand does.
func told(r Reason) string {
	if r.Kind == ReasonInput {
		return string(r.Kind) + " " + r.Path + " " + string(r.Change)
	}
	return string(r.Kind) + " " + r.Field
}

// changesByHand compares two states line by line and file by file.
func changesByHand(t *testing.T, before, after State) map[string]bool {
	t.Helper()
	lines := map[string]int{}
	for _, f := range before.Preimage {
		lines[f.Key+"\x00"+f.Value]++
	}
	for _, f := range after.Preimage {
		lines[f.Key+"\x00"+f.Value]--
	}
	changed := map[string]bool{}
	for line, n := range lines {
		key, _, _ := strings.Cut(line, "\x00")
		switch {
		case n == 0:
		case key == "tree":
			filesByHand(t, before.Inputs, after.Inputs, changed)
		case key == "builder":
			changed["recipe build"] = true
		case key == "builder.version":
			changed["builder "] = true
		case strings.HasPrefix(key, "platform."):
			changed["recipe platforms"] = true
		case key == "go.base":
			changed["base build.go.base"] = true
		case key == "go.image":
			changed["dependency build.go.base"] = true
		case key == "dockerfile.frontend":
			changed["base frontend"] = true
		case strings.HasPrefix(key, "dockerfile.base."):
			changed["base base"] = true
		case strings.HasPrefix(key, "dockerfile.image."):
			changed["dependency base"] = true
		case strings.HasPrefix(key, "go.env."), strings.HasPrefix(key, "dockerfile.args."):
			changed["recipe build."+key] = true
		default: // a list's name, or a field that does not end in digits
			changed["recipe build."+strings.TrimRight(key, ".0123456789")] = true
		}
	}
	return changed
}

func filesByHand(t *testing.T, before, after source.Tree, changed map[string]bool) {
	t.Helper()
	old, new := filesOf(t, before), filesOf(t, after)
	all := maps.Clone(old)
	maps.Copy(all, new)
	for path := range all {
		o, n := old[path], new[path]
		switch regular := o.Mode.IsFile() && n.Mode.IsFile(); {
		case o == n:
		case o.Mode == 0:
			changed["input "+path+" added"] = true
		case n.Mode == 0:
			changed["input "+path+" removed"] = true
		case regular || o.Mode == n.Mode:
			if o.ID != n.ID {
				changed["input "+path+" modified"] = true
			}
			if o.Mode != n.Mode {
				changed["input "+path+" mode"] = true
			}
		default:
			changed["input "+path+" type"] = true
		}
	}
}

func filesOf(t *testing.T, tree source.Tree) map[string]source.Entry {
	t.Helper()
	files := map[string]source.Entry{}
	if err := tree.Walk(t.Context(), func(path string, e source.Entry) error {
		if e.Mode != source.ModeDir {
			files[path] = e
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return files
}

// explainedFiles are random files below src, beside those that recipes need.
func explainedFiles(r *rand.Rand) []file {
	files := []file{{path: "go.mod", content: fmt.Sprintf("module m\n\ngo 1.26.%d\n", r.IntN(2))}, {path: "site/a"}, randomLock(r), randomDockerfile(r)}
	for _, f := range randomFiles(r) {
		f.path = "src/" + f.path
		files = append(files, f)
	}
	return files
}

func edited(r *rand.Rand, files []file) []file {
	files = slices.Clone(files)
	for range r.IntN(4) {
		i := r.IntN(len(files))
		switch f := &files[i]; {
		case i == 2:
			*f = randomLock(r)
		case i == 3:
			*f = randomDockerfile(r)
		case i < 2, r.IntN(2) == 0:
			if f.mode != source.ModeSymlink {
				f.content += "\n"
			}
		case r.IntN(3) == 0:
			files = slices.Delete(files, i, i+1)
		case r.IntN(2) == 0:
			f.mode = source.ModeExecutable
		default:
			f.mode, f.content = source.ModeSymlink, "."
		}
	}
	return files
}

func randomLock(r *rand.Rand) file {
	content := "apiVersion: pharos.dev/v1alpha1\nkind: Lock\nimages:\n"
	for _, ref := range []string{"alpine:3", "golang:1", "docker/dockerfile:1"} {
		content += fmt.Sprintf("  %q: \"sha256:%064d\"\n", ref, r.IntN(2))
	}
	return file{path: LockFileName, content: content}
}

func randomDockerfile(r *rand.Rand) file {
	var content strings.Builder
	if r.IntN(2) == 0 {
		content.WriteString("# syntax=docker/dockerfile:1\n")
	}
	stages := []string{"FROM alpine:3 AS a\n", "FROM base AS b\n", "FROM golang:1 AS c\n", "ARG ON=alpine:3\nFROM $ON AS d\n"}
	r.Shuffle(len(stages), func(i, j int) { stages[i], stages[j] = stages[j], stages[i] })
	stages = stages[:1+r.IntN(len(stages))]
	for _, stage := range stages {
		content.WriteString(stage)
	}
	content.WriteString("FROM scratch AS last\n")
	for _, stage := range stages {
		name := stage[strings.LastIndex(stage, " ")+1:]
		content.WriteString("COPY --from=" + strings.TrimSpace(name) + " /x /x\n")
	}
	return file{path: "web/Dockerfile", content: content.String()}
}

// randomImages are a base, an image that may be built on it, one that may be of
// another kind, and one of a Dockerfile.
func randomImages(t testing.TB, r *rand.Rand) []Image {
	some := func(list ...string) []string { return list[:r.IntN(len(list)+1)] }
	one := func(list ...string) string { return list[r.IntN(len(list))] }
	recipe := func(name, base string) Image {
		b := &GoBuild{
			Package: one(".", "./src"), Base: base, LDFlags: some("-s", "-w"), Tags: some("a", "b"), Env: map[string]string{},
			Toolchain: one("", "", "go1.26.9"), Assets: some("site"),
		}
		for _, name := range some("A", "0000") {
			b.Env[name] = one("", "1")
		}
		return Image{Name: name, Build: Build{Go: b}, Platforms: append([]string{"linux/amd64"}, some("linux/arm64")...),
			Inputs: mustPatterns(t, append(randomPatterns(r), "go.mod", "site/a", "src")[r.IntN(2):]...)}
	}
	other := "@sha256:" + strings.Repeat(one("1", "2"), 64)
	base := recipe("base", one(Scratch, "x"+digest, "x"+other, "y"+other))
	simple := r.IntN(3) > 0
	if simple { // so that some stay as they are
		base.Build.Go, base.Inputs = &GoBuild{Package: "."}, mustPatterns(t, "go.mod", "site")
	}
	api := recipe("api", one("base", "base", Scratch, "x"+digest))
	site := recipe("site", one("base", "x"+digest))
	if r.IntN(2) == 0 {
		site.Build = Build{Files: &FilesBuild{From: one("site", "."), Root: one("/", "/srv"), MediaType: one("", "a/b")}}
	}
	web := Image{Name: "web", Inputs: mustPatterns(t, "web"), Platforms: []string{"linux/amd64"},
		Build: Build{Dockerfile: &DockerfileBuild{Path: "web/Dockerfile", Target: one("", "", "last"), Secrets: some("npm", "pip")}}}
	if r.IntN(3) == 0 {
		web.Build.Dockerfile.Args = map[string]string{"ON": one("base", "golang:1"), "0000": "x"}
	}
	return []Image{base, api, site, web}
}
