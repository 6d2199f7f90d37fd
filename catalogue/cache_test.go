package catalogue

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/sizetest"
)

// memoryCache forgets a part of what it is given, if it is told to.
type memoryCache struct {
	mu      sync.Mutex
	values  map[CacheKey][]byte
	forgets func() bool
	found   int
}

var _ Cache = (*memoryCache)(nil)

func newMemoryCache() *memoryCache {
	return &memoryCache{values: map[CacheKey][]byte{}, forgets: func() bool { return false }}
}

func (m *memoryCache) Get(key CacheKey) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.forgets() || m.values[key] == nil {
		return nil
	}
	m.found++
	return m.values[key]
}

func (m *memoryCache) Put(key CacheKey, value []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values[key] = slices.Clone(value)
}

// counted counts the directories that are read.
type counted struct {
	source.Objects
	mu    sync.Mutex
	trees map[source.ID]int
}

func count(tree source.Tree) (source.Tree, *counted) {
	c := &counted{Objects: tree.Objects, trees: map[source.ID]int{}}
	tree.Objects = c
	return tree, c
}

func (c *counted) Tree(ctx context.Context, id source.ID) ([]source.Entry, error) {
	c.mu.Lock()
	c.trees[id]++
	c.mu.Unlock()
	return c.Objects.Tree(ctx, id)
}

// eventfulFiles have all that pruning looks at: links that lead somewhere and
// nowhere, submodules, Git LFS, and what recipes are read from.
func eventfulFiles(r *rand.Rand) []file {
	files := explainedFiles(r)
	taken := map[string]bool{}
	for _, f := range files {
		taken[f.path] = true
	}
	for range r.IntN(6) {
		dir := "src/" + randomPath(r)
		if r.IntN(4) == 0 {
			dir = "src"
		}
		for _, f := range []file{eventfulFile(r, dir)} {
			if !taken[f.path] && !clashes(f.path, taken) {
				taken[f.path] = true
				files = append(files, f)
			}
		}
	}
	return files
}

func eventfulFile(r *rand.Rand, dir string) file {
	switch r.IntN(8) {
	case 0:
		return submodule(dir + "/sub")
	case 1:
		return file{path: dir + "/" + attributesFile, content: randomAttributes(r)}
	case 2:
		return pointer(dir + "/" + randomPath(r))
	case 3:
		return file{path: dir + "/go.mod", content: fmt.Sprintf("module n\n\ngo 1.25.%d\n", r.IntN(2))}
	case 4:
		return file{path: dir + "/go.work", content: "go 1.26.1\n\nuse ./" + randomPath(r) + "\n"}
	}
	targets := []string{".", "..", "../..", "a", "b", "../a", "../b/a", "../../a/b", "/etc", "gone", "../link", "link"}
	return file{path: dir + "/link", mode: source.ModeSymlink, content: targets[r.IntN(len(targets))]}
}

// step edits a few files, or has others.
func step(r *rand.Rand, files []file) []file {
	files = edited(r, files)
	for i := range files {
		if files[i].mode == source.ModeSubmodule {
			files[i].content = strings.TrimSpace(files[i].content)
		}
	}
	switch r.IntN(4) {
	case 0:
		f := eventfulFile(r, "src/"+randomPath(r))
		taken := map[string]bool{}
		for _, f := range files {
			taken[f.path] = true
		}
		if !taken[f.path] && !clashes(f.path, taken) {
			files = append(files, f)
		}
	case 1:
		if i := r.IntN(len(files)); i > 3 { // the first are what recipes are read from
			files = slices.Delete(files, i, i+1)
		}
	}
	return files
}

// seen is what there is to know of a state, its pruned tree read if it is asked for.
type seen struct {
	State State
	Files map[string]source.Entry
}

// answer is what States returns, in a form that can be compared.
func answer(t *testing.T, c *Catalogue, tree source.Tree, read bool) (map[string]seen, string) {
	t.Helper()
	states, err := c.States(t.Context(), tree)
	all := map[string]seen{}
	for _, s := range states {
		if all[s.Image.Name] = (seen{State: s}); read {
			all[s.Image.Name] = seen{s, filesOf(t, s.Inputs)}
			checkTrees(t, s.Inputs)
		}
	}
	if err != nil {
		return all, err.Error()
	}
	return all, ""
}

// checkTrees checks that every tree has the ID of its entries.
func checkTrees(t *testing.T, tree source.Tree) {
	t.Helper()
	entries, err := tree.Objects.Tree(t.Context(), tree.ID)
	if err != nil || source.HashTree(entries) != tree.ID {
		t.Fatalf("tree %s has the entries %v, %v", tree.ID, entries, err)
	}
	for _, e := range entries {
		if e.Mode == source.ModeDir {
			checkTrees(t, source.Tree{ID: e.ID, Objects: tree.Objects})
		}
	}
}

// Over thousands of random edits of trees and catalogues, a cache changes no
// fingerprint, no pruned tree and no error, whatever it forgets.
func TestCachedIsUncached(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 12))
	var fine, failed, found, read, readUncached int
	for round := range sizetest.Of(50, 600) {
		cache := newMemoryCache()
		if round%3 == 0 {
			chance := rand.New(rand.NewPCG(13, uint64(round)))
			cache.forgets = func() bool { return chance.IntN(4) == 0 }
		}
		files, images := eventfulFiles(r), randomImages(t, r)
		for i := range 40 {
			if files = step(r, files); r.IntN(8) == 0 {
				images = randomImages(t, r)
			}
			c := &Catalogue{Images: images}
			tree := makeTree(t, files...)
			plain, plainReads := count(tree)
			want, wantErr := answer(t, c, plain, i%5 == 4)
			counting, reads := count(tree)
			got, gotErr := answer(t, c, Cached(counting, cache), i%5 == 4)
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(source.Tree{}, "Objects"), cmp.AllowUnexported(Patterns{}), cmpopts.IgnoreFields(Patterns{}, "list")); diff != "" {
				t.Fatalf("(-uncached +cached):\n%s\nfiles %v\nimages %v", diff, files, images)
			}
			if gotErr != wantErr {
				t.Fatalf("the errors differ, uncached and cached:\n%s\n\n%s\nfiles %v", wantErr, gotErr, files)
			}
			fine, failed = fine+len(want), failed+len(images)-len(want)
			read, readUncached = read+len(reads.trees), readUncached+len(plainReads.trees)
		}
		found += cache.found
	}
	t.Logf("%d states, %d errors, %d answers found, %d directories read, %d without a cache", fine, failed, found, read, readUncached)
	if fine < 1000 || failed < 1000 || found < 10_000 {
		t.Errorf("that tests little: %d states, %d errors, %d answers found", fine, failed, found)
	}
}

// What a commit costs is what it changed.
func TestCacheReadsWhatChanged(t *testing.T) {
	t.Parallel()
	tree := largeTree(t, benchInputs["without tests"])
	c, err := Load(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	cache := newMemoryCache()
	if _, err := c.States(t.Context(), Cached(tree, cache)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"services/s007/p0/f000.go", "libs/l50/p0/f000.go", "go.sum"} {
		changed := replaced(t, tree, path, "changed")
		want, err := c.States(t.Context(), changed)
		if err != nil {
			t.Fatal(err)
		}
		counting, reads := count(changed)
		got, err := c.States(t.Context(), Cached(counting, cache))
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if got[i].Fingerprint != want[i].Fingerprint || got[i].Files != want[i].Files {
				t.Fatalf("%s: %s has %s and %d files, want %s and %d", path, want[i].Image.Name, got[i].Fingerprint, got[i].Files, want[i].Fingerprint, want[i].Files)
			}
		}
		// The directories on the way, and those that lead to recipes of the images
		// that changed.
		most := strings.Count(path, "/") + 1
		if changedImages := differing(t, c, tree, changed); changedImages > 1 {
			most += 310 // services and each service, to look for go.mod and go.work
		}
		if len(reads.trees) > most+8 {
			t.Errorf("%s: %d directories are read, want at most %d", path, len(reads.trees), most+8)
		}
		again, err := c.States(t.Context(), Cached(changed, cache))
		if err != nil || again[7].Fingerprint != want[7].Fingerprint {
			t.Errorf("once more: %v", err)
		}
	}
}

func differing(t *testing.T, c *Catalogue, a, b source.Tree) int {
	t.Helper()
	before, err := c.States(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	after, err := c.States(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i := range before {
		if before[i].Fingerprint != after[i].Fingerprint {
			n++
		}
	}
	return n
}

// replaced returns the tree with another content of a file.
func replaced(t *testing.T, tree source.Tree, path, content string) source.Tree {
	t.Helper()
	objects := tree.Objects.(*source.MemoryObjects)
	id := objects.PutBlob([]byte(content))
	names := strings.Split(path, "/")
	for i := len(names) - 1; i >= 0; i-- {
		entries, err := tree.ReadDir(t.Context(), strings.Join(names[:i], "/"))
		if err != nil {
			t.Fatal(err)
		}
		entries = slices.Clone(entries)
		at := slices.IndexFunc(entries, func(e source.Entry) bool { return e.Name == names[i] })
		entries[at].ID = id
		id = putTree(t, objects, entries...)
	}
	return source.Tree{ID: id, Objects: objects}
}

// An object that is gone below a directory that is the same as before is missed
// when the inputs are read, and not before.
func TestCacheDoesNotHideWhatIsMissing(t *testing.T) {
	t.Parallel()
	files := append(goFiles(), file{path: "services/api/deep/x_test.go"}, file{path: "services/api/deep/x.go"})
	image := goImage(t)
	image.Inputs = mustPatterns(t, "services", "go.mod", "!**/*_test.go")
	c := &Catalogue{Images: []Image{image}}
	tree, cache := makeTree(t, files...), newMemoryCache()
	want, err := c.States(t.Context(), Cached(tree, cache))
	if err != nil {
		t.Fatal(err)
	}
	deep, err := tree.Lookup(t.Context(), "services/api/deep")
	if err != nil {
		t.Fatal(err)
	}
	lossy := source.Tree{ID: tree.ID, Objects: without{tree.Objects, deep.ID}}
	if states, err := c.States(t.Context(), lossy); len(states) > 0 || !strings.Contains(err.Error(), "not found") {
		t.Errorf("without a cache: %v, %v", states, err)
	}
	states, err := c.States(t.Context(), Cached(lossy, cache))
	if err != nil || states[0].Fingerprint != want[0].Fingerprint {
		t.Fatalf("with a cache: %v, %v", states, err)
	}
	err = states[0].Inputs.Walk(t.Context(), func(string, source.Entry) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "not found") || !strings.Contains(err.Error(), "services/api/deep") {
		t.Errorf("the inputs are read: %v", err)
	}
}

// without lacks an object.
type without struct {
	source.Objects
	id source.ID
}

func (w without) Tree(ctx context.Context, id source.ID) ([]source.Entry, error) {
	if id == w.id {
		return nil, fmt.Errorf("tree %s: %w", id, source.ErrNotFound)
	}
	return w.Objects.Tree(ctx, id)
}

// The limits say the same with a cache, of one place as well as of all images.
func TestCacheKeepsTheLimits(t *testing.T) {
	t.Parallel()
	objects := source.NewMemory()
	f := source.Entry{Name: "f", Mode: source.ModeFile, ID: objects.PutBlob(nil)}
	leaf := putTree(t, objects, f, source.Entry{Name: "g", Mode: source.ModeFile, ID: f.ID})
	allowed := nested(t, objects, leaf, 19, 2, nil)
	large := nested(t, objects, allowed.ID, 1, 2, nil)
	image := filesImage(t)
	image.Inputs, image.Build.Files.From = mustPatterns(t, "**"), "."
	c, cache := &Catalogue{Images: []Image{image}}, newMemoryCache()
	for _, tree := range []source.Tree{allowed, large, allowed, large} {
		want, wantErr := c.States(t.Context(), tree)
		got, gotErr := c.States(t.Context(), Cached(tree, cache))
		if len(got) != len(want) || fmt.Sprint(gotErr) != fmt.Sprint(wantErr) || tree.ID == large.ID && len(want) > 0 {
			t.Errorf("%d states, %v, want %d, %v", len(got), gotErr, len(want), wantErr)
		}
	}
	// A directory that is known is refused where its path is too long.
	deep := putTree(t, objects, f)
	for range 10 {
		deep = putTree(t, objects, source.Entry{Name: strings.Repeat("n", 200), Mode: source.ModeDir, ID: deep})
	}
	for _, levels := range []int{1, 20, 1, 20} {
		id := deep
		for range levels {
			id = putTree(t, objects, source.Entry{Name: strings.Repeat("m", 200), Mode: source.ModeDir, ID: id})
		}
		// It is known from a place with a short path when it is looked at there.
		id = putTree(t, objects, source.Entry{Name: "a", Mode: source.ModeDir, ID: deep}, source.Entry{Name: "z", Mode: source.ModeDir, ID: id})
		tree := source.Tree{ID: id, Objects: objects}
		for _, tree := range []source.Tree{tree, Cached(tree, cache)} {
			_, err := c.States(t.Context(), tree)
			if refused := err != nil && strings.Contains(err.Error(), "the path of a directory is longer"); refused != (levels == 20) {
				t.Errorf("%d levels: %v", levels, err)
			}
		}
	}
}

// Patterns that can still match the same differ by what they chose of a directory
// already.
func TestCacheTellsWhatWasChosen(t *testing.T) {
	t.Parallel()
	tree := makeTree(t, file{path: "src/a"}, file{path: "src/x/a"}, file{path: "src/x/y"}, file{path: "b"})
	cache := newMemoryCache()
	for _, list := range [][]string{
		{"src", "!src/x*", "src/x*/y*"}, {"b", "!src", "!src/x*", "src/x*/y*"}, {"src/*", "!src/x*", "src/x*/y*"}, {"s*", "!src/x*", "src/x*/y*"},
		{"src", "!src/x*", "src/x*/*"}, {"src/x*/y*"}, {"b", "src/x*/y*"}, {"**", "!src/x*"}, {"src"}, {"src/**"},
	} {
		image := filesImage(t)
		image.Inputs, image.Build.Files.From = mustPatterns(t, list...), "."
		c := &Catalogue{Images: []Image{image}}
		want, wantErr := c.States(t.Context(), tree)
		got, gotErr := c.States(t.Context(), Cached(tree, cache))
		if wantErr != nil || gotErr != nil || got[0].Fingerprint != want[0].Fingerprint || got[0].Files != want[0].Files {
			t.Errorf("%v: %v, %v, want %v, %v", list, got, gotErr, want, wantErr)
		}
	}
}

// Every field of a recipe is a part of what is asked about it.
func TestRecipeQuestionHasEveryField(t *testing.T) {
	t.Parallel()
	filled := Image{
		Name: "x", Inputs: mustPatterns(t, "a"), Platforms: []string{"linux/amd64"},
		Build: Build{
			Go:         &GoBuild{"p", []string{"l"}, []string{"t"}, map[string]string{"E": "v"}, "go1", "b", []string{"a"}},
			Dockerfile: &DockerfileBuild{"p", "t", map[string]string{"A": "v"}, []string{"s"}, []string{"h"}},
			Files:      &FilesBuild{"f", "r", "m"},
		},
	}
	asked := map[string]string{}
	ask := func(what string, image Image) {
		q := string(recipeQuestion(&image))
		if other, known := asked[q]; known {
			t.Errorf("%s asks the same as %s", what, other)
		}
		asked[q] = what
	}
	kinds := reflect.ValueOf(filled.Build)
	for k := range kinds.NumField() {
		image := filled
		image.Build = Build{}
		recipe := reflect.New(kinds.Field(k).Type().Elem())
		recipe.Elem().Set(kinds.Field(k).Elem())
		reflect.ValueOf(&image.Build).Elem().Field(k).Set(recipe)
		name := kinds.Type().Field(k).Name
		ask(name, image)
		for f := range recipe.Elem().NumField() {
			field := recipe.Elem().Field(f)
			if field.IsZero() {
				t.Fatalf("%s.%s is not filled in", name, recipe.Elem().Type().Field(f).Name)
			}
			before := reflect.ValueOf(field.Interface())
			field.SetZero()
			ask(name+" without "+recipe.Elem().Type().Field(f).Name, image)
			field.Set(before)
		}
		image.Platforms = append(image.Platforms, "linux/arm64")
		ask(name+" for two platforms", image)
		image.Inputs = mustPatterns(t, "b")
		ask(name+" of other inputs", image)
	}
}

// What a cache gives back that nobody put is not believed, nor does it end the
// process. Whether a file is what was written is for the cache to say.
func FuzzRecall(f *testing.F) {
	files := append(goFiles(), file{path: "services/api/l", mode: source.ModeSymlink, content: "main.go"})
	image := goImage(f)
	image.Inputs = mustPatterns(f, "services", "go.mod", "!**/*_test.go")
	c, tree, cache := &Catalogue{Images: []Image{image}}, makeTree(f, files...), newMemoryCache()
	if _, err := c.States(f.Context(), Cached(tree, cache)); err != nil {
		f.Fatal(err)
	}
	keys := slices.SortedFunc(maps.Keys(cache.values), func(a, b CacheKey) int { return slices.Compare(a[:], b[:]) })
	for i, key := range keys {
		f.Add(uint8(i), cache.values[key])
	}
	f.Fuzz(func(t *testing.T, at uint8, value []byte) {
		other := newMemoryCache()
		maps.Copy(other.values, cache.values)
		other.values[keys[int(at)%len(keys)]] = value
		_, _ = c.States(t.Context(), Cached(tree, other))
	})
}

// A source that is not embedded could change an answer, and leave those that were
// kept before.
func TestAllSourcesAreInTheQuestions(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{".", "dockerfile"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) < 10 {
			t.Fatal(files, err)
		}
		for _, name := range files {
			_, err := sources.ReadFile(filepath.ToSlash(name))
			if test := strings.HasSuffix(name, "_test.go"); (err == nil) == test {
				t.Errorf("%s: %v; all sources but tests are to be embedded", name, err)
			}
		}
	}
}

// everyField has every field of a pharos.yaml.
const everyField = header + `images:
- name: api
  build: {go: {package: ./api, ldflags: [-s], tags: [x], env: {CGO_ENABLED: "0"}, toolchain: go1.26.8, base: 'alpine:3', assets: [web]}}
  inputs: [api, "!**/*_test.go", "a[b-c]/**/?x*"]
  platforms: [linux/arm64, linux/amd64]
  run:
    go: {args: [serve]}
    env: ["A*", DATABASE_URL]
    set: {LOG_LEVEL: debug}
    envFile: api/.env
    forwards: [{service: 'postgres:5432', namespace: data, local: 15432, env: DATABASE_URL}]
    ports: [{port: 8080, local: 18080, env: [PORT]}]
    files: [/etc/config, {path: /etc/tls, env: TLS_DIR}]
- name: worker
  build: {dockerfile: {path: worker/Dockerfile}}
  inputs: [worker]
  run: {python: {module: worker, args: [-v]}}
- name: beat
  build: {dockerfile: {path: worker/Dockerfile}}
  inputs: [worker]
  run: {python: {script: beat.py}}
- name: page
  build: {files: {from: page}}
  inputs: [page]
  run: {node: {script: dev, args: [--host]}}
- name: feed
  build: {files: {from: page}}
  inputs: [page]
  run: {node: {file: feed.js}, dir: page/feed}
- name: found
  build: {files: {from: page}}
  inputs: [page]
  run: {}
- name: web
  build: {dockerfile: {path: web/Dockerfile, target: prod, args: {A: b}, secrets: [npm], ssh: [default]}}
  inputs: [web]
  run: {command: [npm, run], reload: self}
- name: site
  build: {files: {from: site, root: /srv, mediaType: a/b}}
  inputs: [site]
delivery: [gitops/**]
neutral: ["**/*.md"]
`

// A catalogue that is recalled is the one that was parsed, of which the cache knows
// every field.
func TestCatalogueIsRecalled(t *testing.T) {
	t.Parallel()
	cache := newMemoryCache()
	set := map[string]bool{}
	for _, text := range []string{everyField, header, shop, header + "neutral: []\nimages: []\n"} {
		want, err := Parse(FileName, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		fieldsSet(reflect.ValueOf(*want), set)
		tree := makeTree(t, file{path: FileName, content: text})
		for _, found := range []int{0, 1} {
			before := cache.found
			got, err := Load(t.Context(), Cached(tree, cache))
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%v, got %+v, want %+v", err, got, want)
			}
			if text == everyField && cache.found-before != found {
				t.Errorf("it is found %d times, want %d", cache.found-before, found)
			}
		}
	}
	for _, v := range []any{Catalogue{}, Image{}, Build{}, GoBuild{}, DockerfileBuild{}, FilesBuild{}, Run{}, GoRun{}, PythonRun{}, NodeRun{}, RunForward{}, RunPort{}, RunFiles{}} {
		for f := range reflect.TypeOf(v).NumField() {
			if name := reflect.TypeOf(v).Name() + "." + reflect.TypeOf(v).Field(f).Name; !set[name] {
				t.Errorf("%s is set in no sample", name)
			}
		}
	}
}

func fieldsSet(v reflect.Value, set map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			fieldsSet(v.Elem(), set)
		}
	case reflect.Slice:
		for i := range v.Len() {
			fieldsSet(v.Index(i), set)
		}
	case reflect.Struct:
		for f := range v.NumField() {
			if !v.Field(f).IsZero() {
				set[v.Type().Name()+"."+v.Type().Field(f).Name] = true
			}
			fieldsSet(v.Field(f), set)
		}
	}
}
