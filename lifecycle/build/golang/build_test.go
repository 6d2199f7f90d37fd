package golang_test

import (
	"bytes"
	"debug/elf"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/pharos-dev/pharos/lifecycle"
)

func TestBuildSeveralPlatforms(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.request(greeting)
	// Unsorted, and with a variant.
	r.State.Image.Platforms = []string{"linux/arm64", "linux/arm/v6", "linux/amd64"}
	res := f.build(r)

	want := lifecycle.BuildResult{
		Digest: res.Digest, Platforms: []string{"linux/amd64", "linux/arm/v6", "linux/arm64"},
		Toolchain: runtime.Version(), Size: res.Size,
	}
	if diff := cmp.Diff(want, res); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	index := pulled(t, r, res)
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if manifest.MediaType != types.OCIImageIndex {
		t.Errorf("the index is a %s", manifest.MediaType)
	}
	wantAnnotations := map[string]string{
		"pharos.dev/fingerprint": string(r.State.Fingerprint), "pharos.dev/toolchain": runtime.Version(),
	}
	if diff := cmp.Diff(wantAnnotations, manifest.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	var size int64
	for platform, machine := range map[string]elf.Machine{
		"linux/amd64": elf.EM_X86_64, "linux/arm64": elf.EM_AARCH64, "linux/arm/v6": elf.EM_ARM,
	} {
		img := platformImage(t, index, platform)
		size += checkImage(t, img, platform)
		program, err := elf.Open(program(t, img))
		if err != nil {
			t.Fatal(err)
		}
		if program.Machine != machine {
			t.Errorf("%s: the program is for %v", platform, program.Machine)
		}
		if libraries, err := program.ImportedLibraries(); err != nil || len(libraries) > 0 {
			t.Errorf("%s: the program is not static: %v, %v", platform, libraries, err)
		}
		if err := program.Close(); err != nil {
			t.Error(err)
		}
	}
	if res.Size != size {
		t.Errorf("the size is %d, the layers have %d bytes", res.Size, size)
	}
	if got := run(t, platformImage(t, index, "linux/"+runtime.GOARCH)); got != "hello, world!" {
		t.Errorf("the program says %q", got)
	}
}

func TestBuildFollowsTheRecipe(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	files := with(greeting, map[string]string{
		"cmd/hello/main.go":    "package main\n\nvar version = \"none\"\n\nfunc main() { println(version, tagged) }\n",
		"cmd/hello/tagged.go":  "//go:build tagged\n\npackage main\n\nconst tagged = true\n",
		"cmd/hello/without.go": "//go:build !tagged\n\npackage main\n\nconst tagged = false\n",
		// The machine's GOFLAGS name this tag.
		"cmd/hello/machine.go": "//go:build machine\n\npackage main\n\nconst tagged = \"by the machine\"\n",
	})
	r := f.request(files)
	r.State.Image.Platforms = []string{"linux/" + runtime.GOARCH}
	r.State.Image.Build.Go.Tags = []string{"tagged"}
	r.State.Image.Build.Go.LDFlags = []string{"-s", "-X", "main.version=it's two words"}
	res := f.build(r)
	img := platformImage(t, pulled(t, r, res), "linux/"+runtime.GOARCH)
	if got := run(t, img); got != "it's two words true" {
		t.Errorf("the program says %q", got)
	}
	bin, err := elf.Open(program(t, img))
	if err != nil {
		t.Fatal(err)
	}
	defer bin.Close()
	if bin.Section(".symtab") != nil {
		t.Error("-s had no effect")
	}
}

func TestBuildOnABase(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	base := f.request(with(greeting, map[string]string{
		"cmd/hello/main.go": "package main\n\nfunc main() { println(\"base\") }\n",
	}))
	base.Repository = f.host + "/bases/static"
	base.State.Image.Platforms = []string{"linux/amd64", "linux/arm64"}
	baseRef := base.Repository + "@" + string(f.build(base).Digest)

	r := f.request(greeting)
	r.State.Image.Build.Go.Base = baseRef
	r.State.Bases = []string{baseRef}
	r.State.Image.Platforms = []string{"linux/amd64", "linux/arm64"}
	res := f.build(r)
	if diff := cmp.Diff([]string{baseRef}, res.Bases); diff != "" {
		t.Errorf("bases (-want +got):\n%s", diff)
	}
	for _, platform := range r.State.Image.Platforms {
		layers, err := platformImage(t, pulled(t, r, res), platform).Layers()
		if err != nil {
			t.Fatal(err)
		}
		if len(layers) != 2 {
			t.Errorf("%s has %d layers, want the base's and the program's", platform, len(layers))
		}
	}
	if got := run(t, platformImage(t, pulled(t, r, res), "linux/"+runtime.GOARCH)); got != "hello, world!" {
		t.Errorf("the program says %q", got)
	}

	r.State.Image.Platforms = []string{"linux/s390x"}
	_, err := f.Build(t.Context(), r)
	if !errors.Is(err, lifecycle.ErrSource) || !strings.Contains(err.Error(), "no image for linux/s390x, only for linux/amd64, linux/arm64") {
		t.Errorf("a base without the platform: %v", err)
	}
	missing := f.host + "/bases/static@sha256:" + strings.Repeat("0", 64)
	r.State.Image.Build.Go.Base, r.State.Bases = missing, []string{missing}
	if failed := f.fail(r); !strings.Contains(failed.Reason, "is not in the registry") {
		t.Errorf("a base that is not there: %v", failed)
	}
}

// TestBuildOnAnImageOfTheCatalogue takes the base from what was built before.
func TestBuildOnAnImageOfTheCatalogue(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	base := f.request(greeting)
	onto := f.host + "/dev/hello@" + string(f.build(base).Digest)
	r := f.request(greeting)
	r.State.Image.Build.Go.Base, r.State.Dependencies = "tools", []string{"tools"}
	if failed := f.fail(r); !strings.Contains(failed.Reason, "tools") {
		t.Errorf("without the base: %v", failed)
	}
	r.Images = map[string]string{"tools": onto}
	res := f.build(r)
	if len(res.Bases) > 0 {
		t.Errorf("it names bases %v beyond those of the catalogue", res.Bases)
	}
	layers, err := platformImage(t, pulled(t, r, res), "linux/amd64").Layers()
	if err != nil || len(layers) != 2 {
		t.Errorf("%d layers, %v, want the base's and its own", len(layers), err)
	}
}

func TestCompileErrorNamesFileAndLine(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.request(with(greeting, map[string]string{"lib/words/words.go": "package words\n\nfunc Greet(name string) string {\n\treturn name + 1\n}\n"}))
	var out bytes.Buffer
	r.Output = &out
	failed := f.fail(r)
	if want := "lib/words/words.go:4:9"; !strings.Contains(failed.Output, want) || !strings.Contains(out.String(), want) {
		t.Errorf("neither of these may lack %s:\n%s\n%s", want, failed.Output, out.String())
	}
	if len(failed.Missing) > 0 {
		t.Errorf("these are said to be missing: %v", failed.Missing)
	}
	if strings.Contains(failed.Error(), f.temp) {
		t.Errorf("the error shows the private folder: %v", failed)
	}
}

func TestPushFailureLeavesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.request(greeting)
	// A port that nobody listens on: it was this process's own just now.
	r.Repository = closedPort(t) + "/dev/hello"
	_, err := f.Build(t.Context(), r)
	if !errors.Is(err, lifecycle.ErrUnreachable) {
		t.Errorf("got %v, want an ErrUnreachable", err)
	}
	f.empty()
}

func TestBuildConcurrently(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var requests []lifecycle.BuildRequest
	for _, word := range []string{"one", "two", "three", "four"} {
		r := f.request(with(greeting, map[string]string{"cmd/hello/name.txt": word}))
		r.Repository += "-" + word
		// The same image twice at once, too.
		requests = append(requests, r, r)
	}
	type outcome struct {
		res lifecycle.BuildResult
		err error
	}
	outcomes := make([]chan outcome, len(requests))
	for i, r := range requests {
		outcomes[i] = make(chan outcome, 1)
		go func() {
			res, err := f.Build(t.Context(), r)
			outcomes[i] <- outcome{res, err}
		}()
	}
	var digests []lifecycle.Digest
	for i := range outcomes {
		o := <-outcomes[i]
		if o.err != nil {
			t.Fatal(o.err)
		}
		digests = append(digests, o.res.Digest)
	}
	slices.Sort(digests)
	if distinct := slices.Compact(digests); len(distinct) != 4 {
		t.Errorf("four programs, each built twice, have %d digests", len(distinct))
	}
	f.empty()
}
