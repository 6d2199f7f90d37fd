package catalogue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// sideOf computes the states of images at a tree of files, without a pharos.yaml.
func sideOf(t testing.TB, files []file, images ...Image) Side {
	t.Helper()
	states, err := (&Catalogue{Images: images}).States(t.Context(), makeTree(t, files...))
	if err != nil && len(FailedImages(err)) == 0 {
		t.Fatal(err)
	}
	return Side{States: states, Err: err}
}

func explained(t testing.TB, image string, old, new Side) Explanation {
	t.Helper()
	x, err := Explain(t.Context(), image, old, new, nil)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Every reason is given, in plain words, and none besides.
func TestExplainReasons(t *testing.T) {
	t.Parallel()
	other := "@sha256:" + strings.Repeat("1", 64)
	before := func(i *Image) {
		i.Build.Go = &GoBuild{
			Package: "./services/api", LDFlags: []string{"-s", "-w"}, Tags: []string{"a"}, Base: "alpine:3" + digest,
			Env: map[string]string{"GOAMD64": "v3"}, Assets: []string{"services/api/static"},
		}
	}
	for name, c := range map[string]struct {
		edit func(*Image, *[]file)
		want []string
	}{
		"nothing":            {func(*Image, *[]file) {}, nil},
		"the name of a base": {func(i *Image, _ *[]file) { i.Build.Go.Base = "mirror.example/alpine" + digest }, nil},
		"a file outside":     {func(_ *Image, f *[]file) { (*f)[6].content = "x" }, nil},
		"modified":           {func(_ *Image, f *[]file) { (*f)[4].content += "x" }, []string{"libs/lib.go was modified"}},
		"added":              {func(_ *Image, f *[]file) { *f = append(*f, file{path: "libs/a"}) }, []string{"libs/a was added"}},
		"removed":            {func(_ *Image, f *[]file) { (*f)[4].path = "lib.go" }, []string{"libs/lib.go was removed"}},
		"renamed":            {func(_ *Image, f *[]file) { (*f)[4].path = "libs/a.go" }, []string{"libs/a.go was added", "libs/lib.go was removed"}},
		"mode":               {func(_ *Image, f *[]file) { (*f)[4].mode = source.ModeExecutable }, []string{"libs/lib.go changed its mode"}},
		"type":               {func(_ *Image, f *[]file) { (*f)[4] = link("libs/lib.go", ".") }, []string{"libs/lib.go changed its type"}},
		"mode and content": {func(_ *Image, f *[]file) { (*f)[4].mode, (*f)[4].content = source.ModeExecutable, "x" },
			[]string{"libs/lib.go was modified", "libs/lib.go changed its mode"}},
		"file to folder": {func(_ *Image, f *[]file) { (*f)[4].path = "libs/lib.go/x" }, []string{"libs/lib.go was removed", "libs/lib.go/x was added"}},
		"patterns":       {func(i *Image, _ *[]file) { i.Inputs = mustPatterns(t, "services", "go.*") }, []string{"libs/lib.go was removed"}},
		"toolchain":      {func(i *Image, _ *[]file) { i.Build.Go.Toolchain = "go1.26.7" }, []string{"build.go.toolchain: go1.26.8 → go1.26.7"}},
		"toolchain of go.mod": {func(_ *Image, f *[]file) { (*f)[0].content = strings.Replace((*f)[0].content, "26.8", "26.9", 1) },
			[]string{"go.mod was modified", "build.go.toolchain: go1.26.8 → go1.26.9, by go.mod"}},
		"package":    {func(i *Image, _ *[]file) { i.Build.Go.Package = "./libs" }, []string{"build.go.package: services/api → libs"}},
		"order":      {func(i *Image, _ *[]file) { i.Build.Go.LDFlags = []string{"-w", "-s"} }, []string{"build.go.ldflags: [-s, -w] → [-w, -s]"}},
		"list gone":  {func(i *Image, _ *[]file) { i.Build.Go.Tags = nil }, []string{"build.go.tags: [a] → none"}},
		"assets":     {func(i *Image, _ *[]file) { i.Build.Go.Assets = []string{"libs"} }, []string{"build.go.assets: [services/api/static] → [libs]"}},
		"variable":   {func(i *Image, _ *[]file) { i.Build.Go.Env["GOAMD64"] = "v4" }, []string{"build.go.env.GOAMD64: v3 → v4"}},
		"like index": {func(i *Image, _ *[]file) { i.Build.Go.Env["0000"] = "1" }, []string{"build.go.env.0000: none → 1"}},
		"platforms": {func(i *Image, _ *[]file) { i.Platforms = append(i.Platforms, "linux/arm64") },
			[]string{"platforms: [linux/amd64] → [linux/amd64, linux/arm64]"}},
		"base":    {func(i *Image, _ *[]file) { i.Build.Go.Base = "alpine:4" + other }, []string{"base, build.go.base: alpine:3" + digest + " → alpine:4" + other}},
		"no base": {func(i *Image, _ *[]file) { i.Build.Go.Base = Scratch }, []string{"base, build.go.base: alpine:3" + digest + " → scratch"}},
		"two": {func(i *Image, f *[]file) { i.Build.Go.LDFlags = nil; *f = append(*f, file{path: "libs/a"}) },
			[]string{"libs/a was added", "build.go.ldflags: [-s, -w] → none"}},
		"builder": {func(i *Image, _ *[]file) {
			i.Build = Build{Files: &FilesBuild{From: "libs"}}
			i.Inputs = mustPatterns(t, "services/api", "libs", "go.mod", "go.sum")
		}, []string{
			"build: go → files", "build.files.from: none → libs", `build.files.mediaType: none → ""`, "build.files.root: none → /",
			"build.go.assets: [services/api/static] → none", "build.go.env.GOAMD64: v3 → none", "build.go.ldflags: [-s, -w] → none",
			"build.go.package: services/api → none", "build.go.tags: [a] → none", "build.go.toolchain: go1.26.8 → none",
			"base, build.go.base: alpine:3" + digest + " → none",
		}},
	} {
		image, edited := goImage(t), goImage(t)
		before(&image)
		before(&edited)
		files := goFiles()
		c.edit(&edited, &files)
		x := explained(t, "api", sideOf(t, goFiles(), image), sideOf(t, files, edited))
		var got []string
		for _, r := range x.Reasons {
			got = append(got, r.String())
		}
		if diff := cmp.Diff(c.want, got); diff != "" || x.Changed != (c.want != nil) {
			t.Errorf("%s: changed %v (-want +got):\n%s", name, x.Changed, diff)
		}
	}
}

// What the command prints as JSON is this.
func TestReasonJSON(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]Reason{
		`{"kind":"input","path":"libs/x.go","change":"modified"}`:                         {Kind: ReasonInput, Path: "libs/x.go", Change: ChangeModified},
		`{"kind":"recipe","field":"build.go.ldflags","old":["-s"],"new":["-s","-w"]}`:     {Kind: ReasonRecipe, Field: "build.go.ldflags", Old: &Value{List: []string{"-s"}}, New: &Value{List: []string{"-s", "-w"}}},
		`{"kind":"builder","old":"1","new":"2"}`:                                          {Kind: ReasonBuilder, Old: text("1"), New: text("2")},
		`{"kind":"dependency","image":"base","reasons":[{"kind":"schema","new":"v9"}]}`:   {Kind: ReasonDependency, Image: "base", Reasons: []Reason{{Kind: ReasonSchema, New: text("v9")}}},
		`{"kind":"recipe","path":"go.mod","field":"build.go.toolchain","new":"go1.26.8"}`: {Kind: ReasonRecipe, Path: "go.mod", Field: "build.go.toolchain", New: text("go1.26.8")},
	} {
		data, err := json.Marshal(r)
		if err != nil || string(data) != want {
			t.Errorf("got %s, %v, want %s", data, err, want)
		}
		var back Reason
		if err := json.Unmarshal(data, &back); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(r, back); diff != "" {
			t.Error(diff)
		}
	}
}

func TestExplainUnchanged(t *testing.T) {
	t.Parallel()
	at := func(files ...file) Side {
		t.Helper()
		side, err := SideOf(t.Context(), makeTree(t, append(files, file{path: FileName, content: shop}, file{path: "go.mod", content: "module m\n\ngo 1.26.0\n"},
			file{path: "services/api/main.go"}, file{path: "libs/style.css"}, file{path: "site/index.html", content: files[0].content})...))
		if err != nil {
			t.Fatal(err)
		}
		return side
	}
	old, new := at(file{path: "README.md"}), at(file{path: "README.md", content: "x"}, file{path: "Makefile"})
	x := explained(t, "api", old, new)
	want := []PathClass{{"Makefile", ClassUnknown, nil}, {"README.md", ClassNeutral, nil}, {"site/index.html", ClassBuild, []string{"site"}}}
	if diff := cmp.Diff(want, x.Others); diff != "" || x.Changed || x.Old == "" || x.Old != x.New || x.Reasons != nil {
		t.Errorf("got %+v (-want +got):\n%s", x, diff)
	}
	if x := explained(t, "api", old, old); x.Changed || x.Others != nil {
		t.Errorf("the same side: %+v", x)
	}
	recorded := Side{States: old.States}
	if x := explained(t, "api", recorded, new); x.Changed || x.Others != nil {
		t.Errorf("a recorded side: %+v", x)
	}
}

// What comes from a repository does not write to the terminal.
func TestExplanationsStayOnTheirLine(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]fmt.Stringer{
		`"a\nb" was added`:                     Reason{Kind: ReasonInput, Path: "a\nb", Change: ChangeAdded},
		`"\x1b[2J" changed its mode`:           Reason{Kind: ReasonInput, Path: "\x1b[2J", Change: ChangeMode},
		`f: "\r" → ["\t", b]`:                  Reason{Kind: ReasonRecipe, Field: "f", Old: text("\r"), New: &Value{List: []string{"\t", "b"}}},
		`base of "\xff": none → ü`:             Reason{Kind: ReasonBase, Field: "base", Path: "\xff", New: text("ü")},
		`"a\nb" (neutral)`:                     PathClass{Path: "a\nb", Class: ClassNeutral},
		`a b (input of api, web)`:              PathClass{Path: "a b", Class: ClassBuild, Images: []string{"api", "web"}},
		`build.go.toolchain: 1 → 2, by "go\v"`: Reason{Kind: ReasonRecipe, Path: "go\v", Field: "build.go.toolchain", Old: text("1"), New: text("2")},
		`what it is built on: [a] → [b]`:       Reason{Kind: ReasonDependency, Old: &Value{List: []string{"a"}}, New: &Value{List: []string{"b"}}},
		`"build.go.env.A\n": none → ""`:        Reason{Kind: ReasonRecipe, Field: "build.go.env.A\n", New: text("")},
	} {
		if got.String() != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A side may lack the image, or its fingerprint.
func TestExplainOneSided(t *testing.T) {
	t.Parallel()
	tagged := goImage(t)
	tagged.Build.Go = &GoBuild{Package: "./services/api", Base: "alpine:3"}
	api, none, unlocked := sideOf(t, goFiles(), goImage(t)), sideOf(t, goFiles(), filesImage(t)), sideOf(t, goFiles(), tagged)
	if x := explained(t, "api", none, api); !x.Changed || x.Old != "" || len(x.Reasons) != 1 || x.Reasons[0].String() != "it is new in the catalogue" {
		t.Errorf("new: %+v", x)
	}
	if x := explained(t, "api", api, none); !x.Changed || x.New != "" || len(x.Reasons) != 1 || x.Reasons[0].String() != "it is gone from the catalogue" {
		t.Errorf("gone: %+v", x)
	}
	if x := explained(t, "api", unlocked, api); !x.Changed || !errors.Is(x.OldErr, ErrUnlocked) || x.NewErr != nil || x.Old != "" || x.New == "" || x.Reasons != nil {
		t.Errorf("unlocked before: %+v", x)
	}
	if x := explained(t, "api", api, unlocked); !x.Changed || !errors.Is(x.NewErr, ErrUnlocked) || x.OldErr != nil {
		t.Errorf("unlocked now: %+v", x)
	}
	if x := explained(t, "api", unlocked, unlocked); !x.Changed || x.OldErr == nil || x.NewErr == nil {
		t.Errorf("unlocked: %+v", x)
	}
	if _, err := Explain(t.Context(), "apu", api, none, nil); !errors.Is(err, ErrUnknownImage) || !strings.Contains(err.Error(), `"apu"`) {
		t.Errorf("got %v", err)
	}
	if got := strings.Join(append(api.Images(), unlocked.Images()...), " "); got != "api api" {
		t.Errorf("images are %s", got)
	}
}

// Of a recorded side there may be no files, or other ones than were recorded.
func TestExplainWithoutFiles(t *testing.T) {
	t.Parallel()
	files := goFiles()
	old := sideOf(t, files, goImage(t))
	files[4].content = "x"
	new := sideOf(t, files, goImage(t))
	whole := old.States[0]
	want := []Reason{{Kind: ReasonInput, Old: text(string(whole.Inputs.ID)), New: text(string(new.States[0].Inputs.ID))}}
	missing := source.NewMemory()
	for name, inputs := range map[string]source.Tree{
		"none":         {},
		"other":        new.States[0].Inputs,
		"objects lost": {ID: whole.Inputs.ID, Objects: missing},
	} {
		recorded := State{Image: Image{Name: "api"}, Fingerprint: whole.Fingerprint, Preimage: whole.Preimage, Inputs: inputs}
		x := explained(t, "api", Side{States: []State{recorded}}, new)
		if diff := cmp.Diff(want, x.Reasons); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if text := x.Reasons[0].String(); !strings.Contains(text, string(whole.Inputs.ID)) || !strings.Contains(text, "cannot be compared") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// A fingerprint that is not what this version makes of its fields was computed
// by another one.
func TestExplainSchema(t *testing.T) {
	t.Parallel()
	now := sideOf(t, goFiles(), goImage(t))
	foreign := now.States[0]
	foreign.Fingerprint = "sha256:" + Fingerprint(strings.Repeat("0", 64))
	newer := foreign
	newer.Fingerprint = "sha256:" + Fingerprint(strings.Repeat("1", 64))
	bare := foreign
	bare.Preimage = nil
	bareToo := newer
	bareToo.Preimage = nil
	for name, c := range map[string]struct {
		old, new State
		want     string
	}{
		"older":    {foreign, now.States[0], "how fingerprints are computed: a version that this one does not know → " + FingerprintSchema},
		"newer":    {now.States[0], foreign, "how fingerprints are computed: " + FingerprintSchema + " → a version that this one does not know"},
		"bare":     {bare, now.States[0], "how fingerprints are computed: a version that this one does not know → " + FingerprintSchema},
		"two bare": {bare, bareToo, "how fingerprints are computed: a version that this one does not know → a version that this one does not know"},
		"foreign":  {foreign, newer, "how fingerprints are computed: a version that this one does not know → a version that this one does not know"},
	} {
		x := explained(t, "api", Side{States: []State{c.old}}, Side{States: []State{c.new}})
		if len(x.Reasons) != 1 || x.Reasons[0].Kind != ReasonSchema || x.Reasons[0].String() != c.want {
			t.Errorf("%s: %v", name, x.Reasons)
		}
	}
	builder := now.States[0]
	builder.Preimage = append([]Field{}, builder.Preimage...)
	builder.Preimage[1].Value = "0"
	var err error
	if builder.Fingerprint, err = ComputeFingerprint(builder.Preimage); err != nil {
		t.Fatal(err)
	}
	x := explained(t, "api", Side{States: []State{builder}}, now)
	if len(x.Reasons) != 1 || x.Reasons[0].String() != "the builder's version: 0 → "+GoBuilderVersion {
		t.Errorf("got %v", x.Reasons)
	}
}

// Trees that other programs than git wrote may differ, and hold the same files.
func TestExplainTheFormOfTrees(t *testing.T) {
	t.Parallel()
	m := source.NewMemory()
	dir, err := m.PutTree([]source.Entry{{Name: "f", Mode: source.ModeFile, ID: m.PutBlob(nil)}})
	if err != nil {
		t.Fatal(err)
	}
	objects := otherForm{Objects: m, id: source.ID(strings.Repeat("12", 20)), of: dir}
	side := func(dir source.ID) Side {
		id, err := m.PutTree([]source.Entry{{Name: "d", Mode: source.ModeDir, ID: dir}})
		if err != nil {
			t.Fatal(err)
		}
		inputs, _, err := Prune(t.Context(), source.Tree{ID: id, Objects: objects}, mustPatterns(t, "d"))
		if err != nil {
			t.Fatal(err)
		}
		s := stateWith(t, "web", "tree="+string(inputs.ID))
		s.Inputs = inputs
		return Side{States: []State{s}}
	}
	old, new := side(objects.id), side(dir)
	want := []Reason{{Kind: ReasonInput, Change: ChangeForm, Old: text(string(old.States[0].Inputs.ID)), New: text(string(new.States[0].Inputs.ID))}}
	x := explained(t, "web", old, new)
	if diff := cmp.Diff(want, x.Reasons); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(x.Reasons[0].String(), "hold the same files") {
		t.Errorf("it says %q", x.Reasons[0])
	}
}

// otherForm has a tree under a second ID, as one that holds the same entries and
// is not written as git writes it.
type otherForm struct {
	source.Objects
	id, of source.ID
}

func (o otherForm) Tree(ctx context.Context, id source.ID) ([]source.Entry, error) {
	if id == o.id {
		id = o.of
	}
	return o.Objects.Tree(ctx, id)
}
