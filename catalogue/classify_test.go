package catalogue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
)

const shop = `apiVersion: pharos.dev/v1alpha1
kind: Catalogue
images:
- name: api
  build: {go: {package: ./services/api}}
  inputs: [services/api, libs, go.mod]
- name: site
  build: {files: {from: site}}
  inputs: [site, libs/style.css, mod/theme/main.css]
delivery: [gitops/**]
neutral: ["**/*.md", docs]
`

func classesOf(t *testing.T, old, new []file, reads ...string) string {
	t.Helper()
	classes, err := Classify(t.Context(), makeTree(t, old...), makeTree(t, new...), reads)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range classes {
		line := c.Path + "=" + string(c.Class)
		if len(c.Images) > 0 {
			line += ":" + strings.Join(c.Images, "+")
		}
		out = append(out, line)
	}
	return strings.Join(out, " ")
}

func TestClassify(t *testing.T) {
	t.Parallel()
	before := func() []file {
		return []file{
			{path: FileName, content: shop}, {path: "services/api/main.go"}, {path: "services/api/README.md"},
			{path: "libs/style.css"}, {path: "gitops/a.yaml"}, {path: "docs/x"}, {path: "README.md"}, {path: "Makefile"},
			submodule("mod"), {path: "settings.env"}, {path: LockFileName, content: lockBegin + "images: {}\n"},
		}
	}
	edit := func(path string) func([]file) []file {
		return func(files []file) []file {
			for i := range files {
				if files[i].path == path {
					files[i].content += "x"
				}
			}
			return files
		}
	}
	for name, c := range map[string]struct {
		change func([]file) []file
		reads  []string
		want   string
	}{
		"nothing":           {func(f []file) []file { return f }, nil, ""},
		"an input":          {edit("services/api/main.go"), nil, "services/api/main.go=build:api"},
		"of two images":     {edit("libs/style.css"), nil, "libs/style.css=build:api+site"},
		"input, neutral":    {edit("services/api/README.md"), nil, "services/api/README.md=build:api"},
		"input, read":       {edit("libs/style.css"), []string{"libs/style.css"}, "libs/style.css=build:api+site"},
		"delivery":          {edit("gitops/a.yaml"), nil, "gitops/a.yaml=deliver"},
		"neutral":           {edit("README.md"), nil, "README.md=neutral"},
		"neutral, read":     {edit("README.md"), []string{"README.md"}, "README.md=deliver"},
		"unknown":           {edit("Makefile"), nil, "Makefile=unknown"},
		"unknown, read":     {edit("settings.env"), []string{"settings.env"}, "settings.env=deliver"},
		"the catalogue":     {func(f []file) []file { f[0].content += "#\n"; return f }, nil, "pharos.yaml=deliver"},
		"its mode":          {func(f []file) []file { f[0].mode = source.ModeExecutable; return f }, nil, "pharos.yaml=deliver"},
		"the lock":          {edit(LockFileName), nil, "pharos.lock=deliver"},
		"no lock any more":  {func(f []file) []file { return f[:10] }, nil, "pharos.lock=deliver"},
		"a renamed lock":    {func(f []file) []file { f[10].path = "docs/pharos.lock"; return f }, nil, "docs/pharos.lock=neutral pharos.lock=deliver"},
		"the lock's mode":   {func(f []file) []file { f[10].mode = source.ModeExecutable; return f }, nil, "pharos.lock=deliver"},
		"the lock's type":   {func(f []file) []file { f[10] = link(LockFileName, FileName); return f }, nil, "pharos.lock=deliver"},
		"another's lock":    {func(f []file) []file { return append(f, file{path: "a/pharos.lock"}) }, nil, "a/pharos.lock=unknown"},
		"an input's type":   {func(f []file) []file { f[3] = link("libs/style.css", "../docs/x"); return f }, nil, "libs/style.css=build:api+site"},
		"a neutral mode":    {func(f []file) []file { f[6].mode = source.ModeExecutable; return f }, nil, "README.md=neutral"},
		"a delivered mode":  {func(f []file) []file { f[4].mode = source.ModeExecutable; return f }, nil, "gitops/a.yaml=deliver"},
		"an unknown mode":   {func(f []file) []file { f[7].mode = source.ModeExecutable; return f }, nil, "Makefile=unknown"},
		"renamed inputs":    {func(f []file) []file { f[1].path = "services/api/x.go"; return f }, nil, "services/api/main.go=build:api services/api/x.go=build:api"},
		"out of the inputs": {func(f []file) []file { f[1].path = "docs/main.go"; return f }, nil, "docs/main.go=neutral services/api/main.go=build:api"},
		"a new file":        {func(f []file) []file { return append(f, file{path: "libs/new"}) }, nil, "libs/new=build:api"},
		"a file less":       {func(f []file) []file { f[4].path = "docs/a"; return f }, nil, "docs/a=neutral gitops/a.yaml=deliver"},
		"a rename":          {func(f []file) []file { f[5].path = "libs/x"; return f }, nil, "docs/x=neutral libs/x=build:api"},
		"a mode":            {func(f []file) []file { f[1].mode = source.ModeExecutable; return f }, nil, "services/api/main.go=build:api"},
		"a type":            {func(f []file) []file { f[6] = link("README.md", "docs"); return f }, nil, "README.md=neutral"},
		"a directory":       {func(f []file) []file { f[7].path = "Makefile/x"; return f }, nil, "Makefile=unknown Makefile/x=unknown"},
		"a submodule":       {func(f []file) []file { f[8].content = strings.Repeat("34", 20); return f }, nil, "mod=build:site"},
		"no submodule now":  {func(f []file) []file { f[8] = file{path: "mod"}; return f }, nil, "mod=build:site"},
	} {
		if got := classesOf(t, before(), c.change(before()), c.reads...); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if back := classesOf(t, c.change(before()), before(), c.reads...); back != c.want {
			t.Errorf("%s, the other way round: %s, want %s", name, back, c.want)
		}
	}
}

// Both catalogues are asked, and the stricter answer counts, whichever it is.
func TestClassifyAsksBothCatalogues(t *testing.T) {
	t.Parallel()
	with := func(inputs, delivery, neutral string) string {
		return fmt.Sprintf("apiVersion: pharos.dev/v1alpha1\nkind: Catalogue\nimages:\n- name: a\n  build: {files: {}}\n  inputs: [%s]\ndelivery: [%s]\nneutral: [%s]\n", inputs, delivery, neutral)
	}
	catalogues := map[Class]string{
		ClassBuild: with("f", "", ""), ClassDeliver: with("x", "f", ""), ClassUnknown: with("x", "", ""), ClassNeutral: with("x", "", "f"),
	}
	order := []Class{ClassBuild, ClassDeliver, ClassUnknown, ClassNeutral}
	for i, old := range order {
		for j, new := range order {
			want := "f=" + string(order[min(i, j)])
			if order[min(i, j)] == ClassBuild {
				want += ":a"
			}
			if old != new {
				want += " pharos.yaml=deliver"
			}
			got := classesOf(t, []file{{path: FileName, content: catalogues[old]}, {path: "f"}},
				[]file{{path: FileName, content: catalogues[new]}, {path: "f", content: "x"}})
			if got != want {
				t.Errorf("%s, then %s: %s, want %s", old, new, got, want)
			}
		}
	}
}

// A lock that someone declares neutral counts all the same.
func TestClassifyHoldsOnToTheLock(t *testing.T) {
	t.Parallel()
	yaml := header + "images:\n- name: a\n  build: {files: {}}\n  inputs: [f]\nneutral: ['**']\n"
	for inputs, want := range map[string]string{"f": "pharos.lock=deliver", "f, pharos.lock": "pharos.lock=build:a"} {
		yaml := strings.Replace(yaml, "[f]", "["+inputs+"]", 1)
		got := classesOf(t, []file{{path: FileName, content: yaml}}, []file{{path: FileName, content: yaml}, locked(t, "a", digestOf("1"))})
		if got != want {
			t.Errorf("inputs [%s]: %s, want %s", inputs, got, want)
		}
	}
}

// Nobody can say what a path was for in a catalogue that cannot be read, so
// nothing is neutral.
func TestClassifyWithoutTheOldCatalogue(t *testing.T) {
	t.Parallel()
	now := []file{{path: FileName, content: shop}, {path: "README.md", content: "x"}, {path: "libs/a", content: "x"}, {path: "gitops/a", content: "x"}}
	for name, old := range map[string][]file{
		"malformed": {{path: FileName, content: "images: 3"}, {path: "README.md"}},
		"missing":   {{path: "README.md"}},
	} {
		want := "README.md=unknown gitops/a=deliver libs/a=build:api pharos.yaml=deliver"
		if got := classesOf(t, old, now); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if _, err := Classify(t.Context(), makeTree(t, now...), makeTree(t, file{path: "x"}), nil); !errors.Is(err, ErrNoCatalogue) {
		t.Errorf("without a new catalogue: %v", err)
	}
}

func TestClassifyWithoutAnObject(t *testing.T) {
	t.Parallel()
	now := makeTree(t, file{path: FileName, content: shop}, file{path: "libs/a"})
	gone := source.Tree{ID: source.ID(strings.Repeat("1", 40)), Objects: now.Objects}
	if _, err := Classify(t.Context(), gone, now, nil); !errors.Is(err, source.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Classify(ctx, makeTree(t, file{path: "x"}), now, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// The images that a change reaches are those whose patterns match it, whichever
// path was asked of before.
func TestReachedIsWhatPatternsMatch(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	reached, spared := 0, 0
	for range 300 {
		var images []Image
		for i := range 8 {
			images = append(images, Image{Name: fmt.Sprint(i), Inputs: mustPatterns(t, randomPatterns(r)...)})
		}
		var paths []string
		for range 40 {
			paths = append(paths, randomPath(r))
		}
		slices.Sort(paths)
		asked := askImages(images)
		for _, path := range paths {
			change := source.Change{Path: path, New: source.Entry{Mode: source.ModeFile}}
			if r.IntN(5) == 0 {
				change.New.Mode = source.ModeSubmodule
			}
			var want []string
			for _, image := range images {
				if image.Inputs.Match(path) || change.New.Mode == source.ModeSubmodule && image.Inputs.Dir(path) != NoneInside {
					want = append(want, image.Name)
				}
			}
			if got := asked.reached(change); !slices.Equal(got, want) {
				t.Fatalf("%s: %v, want %v of %v", path, got, want, images)
			}
			reached += len(want)
			spared += len(images) - len(want)
		}
	}
	if min(reached, spared) < 10_000 {
		t.Errorf("%d were reached and %d not: that tests little", reached, spared)
	}
}
