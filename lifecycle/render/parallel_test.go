package render_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/internal/sizetest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/render"
)

// TestManyInParallel renders overlays with and without schemas of their own at
// once, hundreds in all, most of them small and each another one: what one sets
// is not seen by another, and nothing of them is left. Not parallel to other tests:
// it counts what the process has.
func TestManyInParallel(t *testing.T) {
	all := fixtures(t)
	want := map[string]lifecycle.Rendering{}
	for name, files := range all {
		want[name] = mustRender(t, files, request)
	}
	shared := render.New()
	const small = "small"
	batch := func(n int) {
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				name := small
				switch {
				case i%100 == 0:
					name = "schema"
				case i%10 == 0:
					name = []string{"bases", "components", "patches"}[i/10%3]
				}
				files, own := all[name], fmt.Sprintf("own%d", i)
				if name == small {
					files = inOverlay(map[string]string{"kustomization.yaml": "namePrefix: " + own + "-\nresources: [o.yaml]", "o.yaml": object})
				}
				r := request
				r.Tree, _ = treeOf(files)
				got, err := shared.Render(t.Context(), r)
				if name == small {
					if err != nil || len(got.Objects) != 1 || got.Objects[0].Name != own+"-a" {
						t.Errorf("%s: %v, %v", own, got.Objects, err)
					}
					return
				}
				if diff := cmp.Diff(want[name], got); diff != "" || err != nil {
					t.Errorf("%s: %v (-alone +in parallel):\n%s", name, err, diff)
				}
			})
		}
		wg.Wait()
	}
	batch(100) // what the first ones set up stays
	before := holdings(t)
	batch(sizetest.Of(200, 900))
	after := holdings(t)
	if after.goroutines > before.goroutines || after.files > before.files {
		t.Errorf("%d goroutines and %d open files became %d and %d", before.goroutines, before.files, after.goroutines, after.files)
	}
	// A render of these takes about a megabyte while it runs.
	const slack = 8 << 20
	if after.heap > before.heap+slack {
		t.Errorf("%d bytes became %d", before.heap, after.heap)
	}
}

type held struct {
	goroutines, files int
	heap              uint64
}

func holdings(t *testing.T) held {
	t.Helper()
	runtime.GC()
	runtime.GC() // what finalizers held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h := held{goroutines: runtime.NumGoroutine(), heap: m.HeapAlloc}
	if runtime.GOOS == "linux" {
		files, err := filepath.Glob("/proc/self/fd/*")
		if err != nil || len(files) == 0 {
			t.Fatalf("open files: %d, %v", len(files), err)
		}
		for _, f := range files {
			if _, err := os.Readlink(f); err == nil {
				h.files++
			}
		}
	}
	return h
}
