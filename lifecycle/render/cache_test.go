package render_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/sizetest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/render"
)

// TestCachedIsNeverStale renders trees after random edits: by a renderer that
// keeps nothing, by one that keeps all in memory, and by ones that find in a
// folder what those before them kept. They all say the same, errors included. Not
// parallel: it takes its time with kustomize.
func TestCachedIsNeverStale(t *testing.T) {
	for name, steps := range map[string]int{"bases": sizetest.Of(30, 80), "components": sizetest.Of(30, 80), "patches": sizetest.Of(30, 80), "schema": sizetest.Of(8, 20)} {
		t.Run(name, func(t *testing.T) {
			original := fixtures(t)[name]
			random := rand.New(rand.NewPCG(20261130, uint64(len(name))))
			dir := t.TempDir()
			memory := render.New(render.WithCache(render.NewCache(render.CacheConfig{})))
			files, good, hits, failed := maps.Clone(original), []map[string]string{original}, 0, false
			for step := range steps {
				what := edit(random, files, original)
				if random.IntN(4) == 0 || failed && random.IntN(3) > 0 { // back to one that could be rendered
					files, what = maps.Clone(good[random.IntN(len(good))]), "back"
				}
				r := asked(random)
				var s *store
				r.Tree, s = treeOf(files)
				want, wantErr := render.New().Render(t.Context(), r)
				uncached := len(s.reads)
				if failed = wantErr != nil; !failed {
					good = append(good, maps.Clone(files))
				}
				fromDisk := render.New(render.WithCache(render.NewCache(render.CacheConfig{Dir: dir})))
				for kind, renderer := range map[string]*render.Renderer{"memory": memory, "disk": fromDisk} {
					clear(s.reads)
					got, err := renderer.Render(t.Context(), r)
					if diff := cmp.Diff(want, got); diff != "" || fmt.Sprint(err) != fmt.Sprint(wantErr) {
						t.Fatalf("step %d (%s), %s: %v, want %v (-uncached +cached):\n%s", step, what, kind, err, wantErr, diff)
					}
					if err == nil && len(s.reads) == 0 && uncached > 0 {
						hits++
					}
					spoil(got)
				}
			}
			if hits < steps/2 {
				t.Errorf("%d of %d renders came from the cache: the test shows little", hits, 2*steps)
			}
		})
	}
}

// edit changes something in the files, and says what.
func edit(random *rand.Rand, files, original map[string]string) string {
	pick := func(m map[string]string) string {
		names := slices.Sorted(maps.Keys(m))
		return names[random.IntN(len(names))]
	}
	name := pick(files)
	switch random.IntN(10) {
	case 0:
		files[name] += "# " + fmt.Sprint(random.IntN(3)) + "\n"
	case 1:
		files[name] = strings.Replace(files[name], "name: ", "name: x", 1)
	case 2:
		if len(files) > 3 {
			delete(files, name)
		}
	case 3: // another kustomization beside the one that is there, or in its place
		dir := path.Dir(name)
		other := path.Join(dir, []string{"kustomization.yml", "Kustomization", "kustomization.yaml"}[random.IntN(3)])
		if _, there := files[other]; !there {
			files[other] = files[name]
			if random.IntN(2) == 0 {
				delete(files, name)
			}
		}
	case 4: // a link to a copy elsewhere
		up := strings.Repeat("../", strings.Count(name, "/"))
		files["elsewhere/"+path.Base(name)] = files[name]
		files[name] = linkTo + up + "elsewhere/" + path.Base(name)
	case 5:
		files["docs/"+fmt.Sprint(random.IntN(5))+".md"] = fmt.Sprint(random.Int())
	case 6:
		other := pick(files)
		files[name], files[other] = files[other], files[name]
	default:
		was := pick(original)
		files[was] = original[was]
		return "restore " + was
	}
	return "edit " + name
}

// asked is one of a few requests.
func asked(random *rand.Rand) lifecycle.RenderRequest {
	r := request
	switch random.IntN(8) {
	case 0:
		r.Labels = map[string]string{"pharos.dev/target": "other"}
	case 1:
		r.Images = []lifecycle.ImageRef{{Name: "api", Repository: "localhost:5000/dev/api", Digest: lifecycle.Digest("sha256:" + strings.Repeat("b", 64))}}
	case 2:
		r.Overlay = overlay + "/" // another spelling of the same
	}
	return r
}

// spoil changes all that a caller can reach: it must be the caller's own.
func spoil(r lifecycle.Rendering) {
	for i := range r.Objects {
		r.Objects[i].Namespace = "spoilt"
		clear(r.Objects[i].JSON)
	}
	for i := range r.Reads {
		r.Reads[i] = "spoilt"
	}
}

// TestRequestIsInTheKey renders requests that differ in one field each.
func TestRequestIsInTheKey(t *testing.T) {
	t.Parallel()
	files := fixtures(t)["bases"]
	tree, _ := treeOf(files)
	web := lifecycle.ImageRef{Name: "web", Repository: "r/web", Digest: sha}
	images := func(change func(*lifecycle.ImageRef)) []lifecycle.ImageRef {
		i := request.Images[0]
		change(&i)
		return []lifecycle.ImageRef{i, web}
	}
	renderer := render.New(render.WithCache(render.NewCache(render.CacheConfig{Dir: t.TempDir()})))
	for _, r := range []lifecycle.RenderRequest{
		{Images: images(func(*lifecycle.ImageRef) {})},
		{Images: images(func(i *lifecycle.ImageRef) { i.Name = "unused" })},
		{Images: images(func(i *lifecycle.ImageRef) { i.Repository = "r/api" })},
		{Images: images(func(i *lifecycle.ImageRef) { i.Digest = lifecycle.Digest("sha256:" + strings.Repeat("c", 64)) })},
		{Images: images(func(i *lifecycle.ImageRef) { i.Name, i.Base = "unused", true })},
		{Images: images(func(i *lifecycle.ImageRef) { i.Name, i.Artifact = "unused", true })},
		{Images: []lifecycle.ImageRef{web, {Name: "unused", Repository: "r/u", Digest: sha}}},
		{Images: []lifecycle.ImageRef{{Name: "unused", Repository: "r/u", Digest: sha}, web}},
		{Labels: map[string]string{"a": "b"}},
		{Labels: map[string]string{"a": "c"}},
		{Labels: map[string]string{"ab": ""}},
		{},
	} {
		r.Tree, r.Overlay = tree, overlay
		want := mustRender(t, files, r)
		for range 2 {
			got, err := renderer.Render(t.Context(), r)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%v: %v (-uncached +cached):\n%s", r, err, diff)
			}
		}
	}
}

// TestNeutralCommitReadsLittle finds a rendering again after commits that change
// nothing of it, by the folders that changed alone, and across processes.
func TestNeutralCommitReadsLittle(t *testing.T) {
	t.Parallel()
	files, dir := large(), t.TempDir()
	r := request
	r.Tree, _ = treeOf(files)
	if _, err := render.New(render.WithCache(render.NewCache(render.CacheConfig{Dir: dir}))).Render(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	files["docs/readme.md"] = "new"
	files["gitops/base/b7/notes.md"] = "new"
	files[overlay+"/notes.md"] = "new"
	var s *store
	r.Tree, s = treeOf(files)
	counted := &countedTrees{Objects: s}
	r.Tree.Objects = counted
	if _, err := render.New(render.WithCache(render.NewCache(render.CacheConfig{Dir: dir}))).Render(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	// The root, gitops, its base with one of a hundred, its overlays with one.
	if len(s.reads) != 0 || counted.n > 6 {
		t.Errorf("%d blobs and %d trees were read, want 0 and at most 6", len(s.reads), counted.n)
	}
}

// TestDamagedRenderings replaces every file that was kept by something else, as a
// crash, a full disk or another program may.
func TestDamagedRenderings(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(b []byte) []byte{
		"empty":     func([]byte) []byte { return nil },
		"cut":       func(b []byte) []byte { return b[:len(b)/2] },
		"longer":    func(b []byte) []byte { return append(b, 'x') },
		"one bit":   func(b []byte) []byte { b[len(b)-9] ^= 4; return b },
		"the sum":   func(b []byte) []byte { b[25] ^= 1; return b },
		"no magic":  func(b []byte) []byte { b[0] = 'P'; return b },
		"something": func([]byte) []byte { return []byte(strings.Repeat("something else ", 100)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			want := mustRender(t, fixtures(t)["bases"], request)
			r := request
			var s *store
			r.Tree, s = treeOf(fixtures(t)["bases"])
			for range 2 {
				damaged := kept(t, dir)
				for _, file := range damaged {
					b, err := os.ReadFile(file)
					if err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(file, damage(b), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				clear(s.reads)
				got, err := render.New(render.WithCache(render.NewCache(render.CacheConfig{Dir: dir}))).Render(t.Context(), r)
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
				if len(s.reads) == 0 {
					t.Error("what is damaged was used")
				}
			}
			clear(s.reads)
			if _, err := render.New(render.WithCache(render.NewCache(render.CacheConfig{Dir: dir}))).Render(t.Context(), r); err != nil || len(s.reads) != 0 {
				t.Errorf("%v; what was damaged was not replaced", err)
			}
			if files := kept(t, dir); len(files) != 1 {
				t.Errorf("%d files are kept, want 1: %v", len(files), files)
			}
		})
	}
}

// kept are the files of a cache, which only their owner may read.
func kept(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", f, info.Mode(), err)
		}
	}
	return files
}

// TestCacheIsBounded keeps no more than it may, and drops what was used longest
// ago.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "here")
	config := render.CacheConfig{Dir: dir, MaxEntries: 3}
	shared := render.New(render.WithCache(render.NewCache(config)))
	used := func(renderer *render.Renderer, label string) bool {
		r := request
		var s *store
		r.Tree, s = treeOf(fixtures(t)["bases"])
		r.Labels = map[string]string{"l": label}
		if _, err := renderer.Render(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		return len(s.reads) == 0
	}
	age := func() { // the clocks of file systems may be coarse
		for _, f := range kept(t, dir) {
			info, err := os.Stat(f)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(f, time.Time{}, info.ModTime().Add(-time.Minute)); err != nil {
				t.Fatal(err)
			}
		}
	}
	other := func() *render.Renderer { return render.New(render.WithCache(render.NewCache(config))) }
	for _, label := range []string{"a", "b", "c"} {
		if used(shared, label) {
			t.Errorf("%s was there", label)
		}
		age()
	}
	if !used(shared, "a") || !used(other(), "a") {
		t.Error("a is gone")
	}
	age()
	if used(shared, "d") {
		t.Error("d was there")
	}
	age()
	if n := len(kept(t, dir)); n != 3 {
		t.Errorf("%d files are kept, want 3", n)
	}
	if !used(other(), "a") || !used(other(), "d") {
		t.Error("what was used last is gone")
	}
	if used(other(), "b") {
		t.Error("b is still there")
	}
	small := render.New(render.WithCache(render.NewCache(render.CacheConfig{Dir: t.TempDir(), MaxBytes: 10})))
	used(small, "a")
	if used(small, "a") {
		t.Error("a rendering larger than the cache was kept")
	}
}

// TestCacheLeavesOthersAlone removes nothing from its folder but its own, and old
// temporary files of processes that were killed.
func TestCacheLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := time.Now().Add(-2 * time.Hour)
	for _, name := range []string{"README", ".tmp-old", ".tmp-new"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if name != ".tmp-new" {
			if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := request
	r.Tree, _ = treeOf(fixtures(t)["bases"])
	if _, err := render.New(render.WithCache(render.NewCache(render.CacheConfig{Dir: dir, MaxEntries: 1}))).Render(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if len(e.Name()) < 20 {
			names = append(names, e.Name())
		}
	}
	if diff := cmp.Diff([]string{".tmp-new", "README"}, names); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
}

// TestCacheThatCannotWrite renders all the same.
func TestCacheThatCannotWrite(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	cache := render.NewCache(render.CacheConfig{Dir: filepath.Join(file, "below"), Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	r := request
	r.Tree, _ = treeOf(fixtures(t)["bases"])
	if _, err := render.New(render.WithCache(cache)).Render(t.Context(), r); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "cannot be kept") {
		t.Errorf("the log does not say so: %s", &log)
	}
}

// TestSharedFolder has many caches on one folder at once, which drop from each
// other.
func TestSharedFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := fixtures(t)["bases"]
	want := map[string]lifecycle.Rendering{}
	for i := range 6 {
		r := request
		r.Labels = map[string]string{"l": fmt.Sprint("x", i)}
		want[fmt.Sprint("x", i)] = mustRender(t, files, r)
	}
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			r := request
			label := fmt.Sprint("x", i%6)
			r.Labels = map[string]string{"l": label}
			r.Tree, _ = treeOf(files)
			got, err := render.New(render.WithCache(render.NewCache(render.CacheConfig{Dir: dir, MaxEntries: 4}))).Render(t.Context(), r)
			if diff := cmp.Diff(want[label], got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	wg.Wait()
	if files := kept(t, dir); len(files) == 0 || len(files) > 4 {
		t.Errorf("%d files are kept, want 1 to 4", len(files))
	}
}

// countedTrees counts the trees that are read.
type countedTrees struct {
	source.Objects
	n int
}

func (c *countedTrees) Tree(ctx context.Context, id source.ID) ([]source.Entry, error) {
	c.n++
	return c.Objects.Tree(ctx, id)
}

// TestKeyKnowsEveryField has the fields of a request in two lists: those that are
// in the key, and those that have no part in what is rendered or are compared
// otherwise. A new one belongs into either.
func TestKeyKnowsEveryField(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of   reflect.Type
		want []string
	}{
		{reflect.TypeFor[lifecycle.RenderRequest](), []string{"Tree", "Commit", "Overlay", "Images", "Labels"}},
		{reflect.TypeFor[lifecycle.ImageRef](), []string{"Name", "Repository", "Digest", "Base", "Artifact"}},
	} {
		var fields []string
		for i := range c.of.NumField() {
			fields = append(fields, c.of.Field(i).Name)
		}
		if diff := cmp.Diff(c.want, fields); diff != "" {
			t.Errorf("fields of %s (-known +there): see keyOf\n%s", c.of, diff)
		}
	}
}
