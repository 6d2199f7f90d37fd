package dockerfile_test

import (
	"archive/tar"
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/registry"
)

func TestBuild(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	base := f.host + "/base:1"
	digest := f.busybox(base)
	p := project{
		recipe: "{path: web/Dockerfile, target: prod, args: {MODE: dev}}",
		files: map[string]string{
			"web/Dockerfile": "FROM " + base + " AS build\nARG MODE\nCOPY web/src /src\nRUN cat /src/*.txt >/all && echo $MODE >>/all && stat -c %a /src/run >>/all\n" +
				"FROM scratch AS prod\nCOPY --from=build /all /all\nCOPY web/link web/src/run /\nENTRYPOINT [\"/run\"]\n",
			"web/src/a.txt": "one\n", "web/src/b.txt": "two\n", "web/src/run": "#!/bin/sh\n", "web/link": "src/a.txt",
		},
		modes: map[string]source.Mode{"web/src/run": source.ModeExecutable, "web/link": source.ModeSymlink},
		lock:  map[string]string{base: digest},
	}
	r := f.request(p)
	var out bytes.Buffer
	r.Output = &out
	res := f.build(r)

	if d := cmp.Diff(map[string]string{"all": "one\ntwo\ndev\n755\n", "link": "one\n", "run": "#!/bin/sh\n"}, f.content(res)); d != "" {
		t.Errorf("the image's files (-want +got)\n%s", d)
	}
	img := f.image(res, "linux/amd64")
	m, err := img.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	var size int64
	for _, l := range m.Layers {
		size += l.Size
	}
	want := lifecycle.BuildResult{
		Digest: res.Digest, Platforms: []string{"linux/amd64"}, Bases: []string{base + "@" + digest}, Toolchain: "buildkit v0.34.2", Size: size,
	}
	if d := cmp.Diff(want, res); d != "" {
		t.Errorf("the result (-want +got)\n%s", d)
	}
	found, err := f.registry.Find(t.Context(), r.Repository, r.State.Fingerprint)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(lifecycle.RegistryImage{Digest: res.Digest, Platforms: want.Platforms, Fingerprint: r.State.Fingerprint, Toolchain: want.Toolchain}, found); d != "" {
		t.Errorf("by its fingerprint (-want +got)\n%s", d)
	}
	tag, err := registry.Tag(r.State.Fingerprint)
	if err != nil {
		t.Fatal(err)
	}
	if got := digestOf(t, r.Repository+":"+tag); got != string(res.Digest) {
		t.Errorf("the tag leads to %s, want %s", got, res.Digest)
	}
	if m.MediaType != types.OCIManifestSchema1 {
		t.Errorf("the manifest is a %s", m.MediaType)
	}
	for _, line := range []string{"RUN cat /src/*.txt >/all", "DONE"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("%q is not in what the build printed:\n%s", line, out.String())
		}
	}
}

// No time of this build is in the image.
func TestBuildHasNoTimes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	base := f.host + "/base:1"
	p := project{
		files: map[string]string{"Dockerfile": "FROM " + base + "\nCOPY a /a/b/\nRUN echo x >/x && mkdir /y\n", "a": "1"},
		lock:  map[string]string{base: f.busybox(base)},
	}
	img := f.image(f.build(f.request(p)), "linux/amd64")
	eachFile(t, img, func(h *tar.Header, _ []byte) {
		if h.ModTime.Unix() > 0 {
			t.Errorf("%s is of %s", h.Name, h.ModTime)
		}
	})
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	times := []int64{config.Created.Unix()}
	for _, h := range config.History[1:] { // the first is the base's
		times = append(times, h.Created.Unix())
	}
	if slices.Max(times) > 0 {
		t.Errorf("its configuration holds the times %v", times)
	}
}

func TestBuildForSeveralPlatforms(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := project{
		platforms: "[linux/arm64, linux/amd64, linux/arm/v7]",
		files:     map[string]string{"Dockerfile": "FROM scratch\nARG TARGETARCH\nCOPY $TARGETARCH /arch\n", "amd64": "A", "arm64": "B", "arm": "C"},
	}
	res := f.build(f.request(p))
	if want := []string{"linux/amd64", "linux/arm/v7", "linux/arm64"}; !slices.Equal(res.Platforms, want) {
		t.Fatalf("it is for %q, want %q", res.Platforms, want)
	}
	for platform, want := range map[string]string{"linux/amd64": "A", "linux/arm64": "B", "linux/arm/v7": "C"} {
		if got := contentOf(t, f.image(res, platform))["arch"]; got != want {
			t.Errorf("for %s it holds %q, want %q", platform, got, want)
		}
	}
}

// A file that changes but for its size and name is taken anew, and what stays is
// not sent again.
func TestBuildSendsWhatChanged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := project{files: map[string]string{"Dockerfile": "FROM scratch\nCOPY src /\n", "src/large": strings.Repeat("x", 1<<20), "src/a": "one"}}
	f.build(f.request(p))
	r := f.request(p.with(map[string]string{"src/a": "two"}))
	count := &countingObjects{Objects: r.State.Inputs.Objects}
	r.State.Inputs.Objects = count
	res := f.build(r)
	if got := f.content(res)["a"]; got != "two" {
		t.Errorf("the image holds %q, want %q", got, "two")
	}
	if got := count.bytes(); got > 1000 {
		t.Errorf("%d bytes were read to be sent", got)
	}
}

// Only declared inputs are in the context.
func TestBuildSeesInputsOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := project{
		inputs: "[Dockerfile, src, \"!src/secret\"]",
		files:  map[string]string{"Dockerfile": "FROM scratch\nCOPY . /\n", "src/a": "a", "src/secret": "s", "other": "o"},
	}
	got := f.content(f.build(f.request(p)))
	if d := cmp.Diff(map[string]string{"Dockerfile": p.files["Dockerfile"], "src/a": "a"}, got); d != "" {
		t.Errorf("the image's files (-want +got)\n%s", d)
	}
}

func TestBuildObeysIgnoreRules(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := project{files: map[string]string{
		"web/Dockerfile": "FROM scratch\nCOPY . /\n", "web/Dockerfile.dockerignore": "web\n", ".dockerignore": "src\n", "src/a": "a",
	}, recipe: "{path: web/Dockerfile}"}
	got := f.content(f.build(f.request(p)))
	if d := cmp.Diff(map[string]string{".dockerignore": "src\n", "src/a": "a"}, got); d != "" {
		t.Errorf("the image's files (-want +got)\n%s", d)
	}
}

// What a step of one image left in a cache mount, another image's does not see.
func TestCacheMountsAreOfOneImage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	base := f.host + "/base:1"
	lock := map[string]string{base: f.busybox(base)}
	for _, c := range []struct{ recipe, repository, command, want string }{
		{"", "/dev/web", "echo left >/c/x && cp /c/x /x", "left\n"},
		{"", "/dev/web", "true && cp /c/x /x", "left\n"},
		{"", "/dev/other", "ls /c | wc -l >/x", "0\n"},
		{"{args: {BUILDKIT_CACHE_MOUNT_NS: shared}}", "/dev/web", "ls /c | wc -l >/x && echo left >/c/x", "0\n"},
		{"{args: {BUILDKIT_CACHE_MOUNT_NS: shared}}", "/dev/other", "true && cp /c/x /x", "left\n"},
	} {
		r := f.request(project{recipe: c.recipe, lock: lock, files: map[string]string{"Dockerfile": "FROM " + base + "\nRUN --mount=type=cache,target=/c " + c.command + "\n"}})
		r.Repository = f.host + c.repository
		res := f.build(r)
		img, err := f.registry.Image(t.Context(), r.Repository+"@"+string(res.Digest), "linux/amd64")
		if err != nil {
			t.Fatal(err)
		}
		if got := contentOf(t, img)["x"]; got != c.want {
			t.Errorf("%s of %s found %q, want %q", c.command, c.repository, got, c.want)
		}
	}
}
