package dockerfile_test

import (
	"os"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// A tag that moves between lock and build changes nothing, wherever the
// Dockerfile names it.
func TestMovedTags(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"FROM":                         "FROM HOST/base:1\n",
		"FROM without a tag":           "FROM HOST/base\n",
		"a stage named as its base":    "FROM HOST/base:1 AS base\nCOPY own /own\nFROM base\n",
		"FROM with an argument":        "ARG TAG=1\nFROM HOST/base:$TAG\n",
		"FROM for a platform":          "FROM --platform=linux/amd64 HOST/base:1\n",
		"COPY --from":                  "FROM scratch\nCOPY --from=HOST/base:1 /which /which\n",
		"COPY --from without a tag":    "FROM scratch\nCOPY --from=HOST/base /which /which\n",
		"RUN --mount":                  "FROM HOST/shell:1\nRUN --mount=from=HOST/base:1,target=/m cp /m/which /which\n",
		"ONBUILD of a stage":           "FROM HOST/shell:1 AS on\nONBUILD COPY --from=HOST/base:1 /which /which\nFROM on\n",
		"named twice":                  "FROM HOST/base:1 AS a\nFROM HOST/base\nCOPY --from=a /which /which\n",
		"by digest and by tag at once": "FROM HOST/base@OLD AS a\nFROM HOST/base:1\nCOPY --from=a /which /other\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			old := f.push(f.host+"/base:1", map[string]string{"which": "locked"})
			f.push(f.host+"/base:latest", map[string]string{"which": "locked"})
			p := project{
				files: map[string]string{"Dockerfile": strings.NewReplacer("HOST", f.host, "OLD", old).Replace(text), "own": "own"},
				lock:  map[string]string{f.host + "/base:1": old, f.host + "/base": old, f.host + "/shell:1": f.busybox(f.host + "/shell:1")},
			}
			r := f.request(p)
			for _, tag := range []string{":1", ":latest"} {
				f.push(f.host+"/base"+tag, map[string]string{"which": "moved"})
			}
			if got := f.content(f.build(r))["which"]; got != "locked" {
				t.Errorf("the image holds %q, want what was locked", got)
			}
		})
	}
}

// Names without a registry are those of Docker Hub, which no test reaches: only
// the names can be seen here, by images that stand for them.
func TestCatalogueImages(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"FROM":                      "FROM base\n",
		"a stage named as its base": "FROM base AS base\nCOPY own /own\nFROM base\n",
		"a name that is cased":      "FROM base AS Base\nCOPY own /own\nFROM base\n",
		"COPY --from":               "FROM scratch\nCOPY --from=base /which /which\nCOPY own /own\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			p := project{
				files: map[string]string{"Dockerfile": text, "own": "own", "base/Dockerfile": "FROM scratch\n"},
				more:  "- name: base\n  build: {dockerfile: {path: base/Dockerfile}}\n  inputs: [base]\n",
			}
			r := f.request(p)
			r.Images = map[string]string{"base": f.host + "/dev/base@" + f.push(f.host+"/dev/base:x", map[string]string{"which": "ours"})}
			res := f.build(r)
			got := f.content(res)
			if got["which"] != "ours" || strings.Contains(text, "/own") && got["own"] != "own" {
				t.Errorf("the image holds %q", got)
			}
			if len(res.Bases) > 0 {
				t.Errorf("it is said to be built on %q", res.Bases)
			}
		})
	}
}

// What a base's ONBUILD asks for is in no lock.
func TestTriggersOfBases(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(f.host+"/tools:1", map[string]string{"which": "tools"})
	base := f.host + "/base:1"
	p := project{
		files: map[string]string{"Dockerfile": "FROM " + base + "\n"},
		lock:  map[string]string{base: devtest.PushFiles(t, base, map[string]string{"a": "a"}, "COPY --from="+f.host+"/tools:1 /which /which")},
	}
	if failed := f.fail(f.request(p)); !strings.Contains(failed.Reason, f.host+"/tools:1, which neither the recipe nor pharos.lock names by digest") {
		t.Errorf("got %v", failed)
	}
}

// The frontend that a syntax line names is the locked one.
func TestFrontendImage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	program, err := devenv.DockerfileFrontend(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	syntax := f.host + "/frontend:1"
	p := project{
		files: map[string]string{"Dockerfile": "# syntax=" + syntax + "\nFROM scratch\nCOPY a /a\n", "a": "a"},
		lock:  map[string]string{syntax: devtest.PushFrontend(t, syntax, program)},
	}
	r := f.request(p)
	f.push(syntax, map[string]string{"moved": "it is no frontend any more"})
	if got := f.content(f.build(r))["a"]; got != "a" {
		t.Errorf("the image holds %q", got)
	}
}

// An image need not have any layer, as those that only set variables.
func TestBaseWithoutLayers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	base := f.host + "/base:1"
	p := project{
		files: map[string]string{"Dockerfile": "FROM " + base + "\nCOPY a /a\n", "a": "a"},
		lock:  map[string]string{base: devtest.PushFiles(t, base, nil)},
	}
	if got := f.content(f.build(f.request(p)))["a"]; got != "a" {
		t.Errorf("the image holds %q", got)
	}
}
