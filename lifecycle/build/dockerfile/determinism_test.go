package dockerfile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
)

// Two BuildKits that know nothing of each other make the same bytes, at another
// time, and whatever they built before.
func TestDeterminism(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	base := f.host + "/base:1"
	p := project{
		files: map[string]string{
			"Dockerfile": "FROM " + base + " AS build\nCOPY src /src\nRUN mkdir -p /out/deep/er && for f in c a b; do cp /src/$f /out/deep/$f; done && ln /out/deep/a /out/hard\n" +
				"FROM scratch\nCOPY --from=build /out /out\nCOPY src/ /src/\nWORKDIR /work\nLABEL a=b\n",
			"src/a": "A", "src/b": "B", "src/c": "C", "src/d/e": "E",
		},
		modes: map[string]source.Mode{"src/b": source.ModeExecutable},
		lock:  map[string]string{base: f.busybox(base)},
	}
	// One has built something else of it already.
	f.build(f.request(p.with(map[string]string{"src/a": "B"})))
	first := f.build(f.request(p))

	other := fixtureOn(t, devtest.OwnBuildKit(t, devenv.BuildKitOptions{}))
	other.host = f.host
	other.connect()
	if d := cmp.Diff(first, other.build(f.request(p))); d != "" {
		t.Errorf("(-first +second)\n%s", d)
	}
	again := f.build(f.request(p))
	if d := cmp.Diff(lifecycle.BuildResult(first), again); d != "" {
		t.Errorf("from the cache (-first +again)\n%s", d)
	}
}
