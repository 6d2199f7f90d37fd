package files_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
)

func TestUndeclared(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	files := map[string]source.File{"other": {}, "site/[1]/index.html": {}}
	failed := f.refuse(f.request(files, catalogue.FilesBuild{From: "site/[1]"}, "site/[1]/index.html"))
	want := []lifecycle.MissingInput{{Path: "site/[1]", Pattern: `site/\[1]`}}
	if diff := cmp.Diff(want, failed.Missing); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	if !strings.Contains(failed.Error(), `site/[1] is not declared: add "site/\\[1]" to the inputs`) {
		t.Errorf("got %v", failed)
	}
	// Without the full tree, nobody knows.
	r := f.request(files, catalogue.FilesBuild{From: "gone"})
	r.Full = source.Tree{}
	if failed := f.refuse(r); failed.Reason != "build.files.from: the tree has no gone" {
		t.Errorf("got %v", failed)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	const zipped = "application/vnd.example.v1.tar+gzip"
	f := newFixture(t)
	link := func(target string) source.File { return source.File{Content: target, Mode: source.ModeSymlink} }
	for name, tt := range map[string]struct {
		files  map[string]source.File
		recipe catalogue.FilesBuild
		want   string
	}{
		"no such folder":           {site, catalogue.FilesBuild{From: "site/private"}, "build.files.from: the tree has no site/private"},
		"a file":                   {site, catalogue.FilesBuild{From: "site/public/index.html"}, `build.files.from: site/public/index.html is a file, and an image is made of a folder: write from: site/public, with "site/public/index.html" as its pattern among the inputs`},
		"below a file":             {site, catalogue.FilesBuild{From: "site/public/index.html/x"}, "build.files.from: the tree has no site/public/index.html/x"},
		"a link":                   {site, catalogue.FilesBuild{From: "site/public/styles"}, "build.files.from: site/public/styles is a symbolic link"},
		"a link out of the folder": {map[string]source.File{"a/b/l": link("../../c"), "c": {}}, catalogue.FilesBuild{From: "a"}, "symbolic link a/b/l -> ../../c leads to nothing in a"},
		"an absolute link":         {map[string]source.File{"a/l": link("/etc/passwd")}, catalogue.FilesBuild{From: "a"}, "symbolic link a/l -> /etc/passwd leads to nothing in a"},
		"links in a circle":        {map[string]source.File{"l": link("m"), "m": link("l")}, catalogue.FilesBuild{}, "symbolic link m -> l leads to nothing in the inputs"},
		"a submodule":              {map[string]source.File{"a/x": {}, "a/m": {Mode: source.ModeSubmodule, Content: strings.Repeat("a", 40)}}, catalogue.FilesBuild{From: "a"}, "a/m is a submodule"},
		"a submodule itself":       {map[string]source.File{"a/x": {}, "m": {Mode: source.ModeSubmodule, Content: strings.Repeat("a", 40)}}, catalogue.FilesBuild{From: "m"}, "m is a submodule"},
		"an announced pointer":     {map[string]source.File{"a/.gitattributes": {Content: "*.bin filter=lfs\n"}, "a/b/x.bin": {Content: pointer}}, catalogue.FilesBuild{From: "a"}, "a/b/x.bin is a Git LFS pointer"},
		"a pointer":                {map[string]source.File{"a/b/x.bin": {Content: pointer}}, catalogue.FilesBuild{From: "a"}, "a/b/x.bin: is a Git LFS pointer"},
		"a pointer as it is":       {map[string]source.File{"a/b/x.bin": {Content: pointer}}, catalogue.FilesBuild{From: "a", MediaType: "a/b"}, "b/x.bin: is a Git LFS pointer"},
		"deletions":                {map[string]source.File{"a/.wh.x": {}, "a/b/.wh..wh..opq": {}}, catalogue.FilesBuild{From: "a"}, "a/.wh.x: in an image's layer a name that begins with .wh. is a deletion"},
		"no inputs":                {nil, catalogue.FilesBuild{}, "build.files.from: the inputs holds no file"},

		"several files":                         {site, catalogue.FilesBuild{From: "site/public", MediaType: "application/wasm"}, "build.files.mediaType: application/wasm is the type of one file, and site/public holds 7"},
		"no file":                               {map[string]source.File{"a/l": link(".")}, catalogue.FilesBuild{From: "a", MediaType: "application/wasm"}, "build.files.mediaType: application/wasm is the type of one file"},
		"a root for a file":                     {map[string]source.File{"a": {}}, catalogue.FilesBuild{Root: "/srv", MediaType: "application/wasm"}, "build.files.root: /srv is for a folder"},
		"an archive of an archive":              {map[string]source.File{"a/x.tar.gz": {}}, catalogue.FilesBuild{From: "a", MediaType: zipped}, "build.files.mediaType: " + zipped + " makes an archive of a, which holds nothing but the archive x.tar.gz"},
		"a root that is a deletion":             {site, catalogue.FilesBuild{Root: "/srv/.wh.x"}, "build.files.root: /srv/.wh.x: in an image's layer a name"},
		"no media type":                         {site, catalogue.FilesBuild{MediaType: "+"}, "build.files.mediaType: \"+\" is no media type"},
		"zstandard":                             {site, catalogue.FilesBuild{MediaType: "application/vnd.oci.image.layer.v1.tar+zstd"}, "build.files.mediaType: layers are compressed with gzip"},
		"another compression":                   {site, catalogue.FilesBuild{MediaType: "application/x.tar+xz"}, "build.files.mediaType: application/x.tar+xz is an archive that is compressed with xz"},
		"a manifest":                            {site, catalogue.FilesBuild{MediaType: "application/vnd.oci.image.manifest.v1+json"}, "is the OCI image specification's own"},
		"an empty configuration":                {site, catalogue.FilesBuild{MediaType: "application/vnd.oci.empty.v1+json"}, "is the OCI image specification's own"},
		"a layer that is not to be distributed": {site, catalogue.FilesBuild{MediaType: "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip"}, "is the OCI image specification's own"},
		"Docker's layer":                        {site, catalogue.FilesBuild{MediaType: "application/vnd.docker.image.rootfs.diff.tar.gzip"}, "is Docker's own"},
	} {
		t.Run(name, func(t *testing.T) {
			r := f.request(tt.files, tt.recipe)
			if failed := f.refuse(r); !strings.Contains(failed.Reason, tt.want) {
				t.Errorf("got the reason %q, want one with %q", failed.Reason, tt.want)
			}
		})
	}
	if !errors.Is(f.refuse(f.request(map[string]source.File{"x": {Content: pointer}}, catalogue.FilesBuild{})), source.ErrLFS) {
		t.Error("a pointer is no source.ErrLFS")
	}
}

const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"

// All that is wrong with a recipe, and with its inputs, is said at once.
func TestRefusedTogether(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.request(site, catalogue.FilesBuild{MediaType: "application/x.tar+xz"})
	r.State.Image.Platforms = []string{"windows/amd64", "linux"}
	failed := f.refuse(r)
	for _, want := range []string{`platform "windows/amd64"`, `platform "linux"`, "build.files.mediaType"} {
		if !strings.Contains(failed.Reason, want) {
			t.Errorf("the reason %q lacks %q", failed.Reason, want)
		}
	}
	r.State.Image.Platforms = nil
	if failed := f.refuse(r); !strings.Contains(failed.Reason, "it names no platform") {
		t.Errorf("without a platform: %v", failed)
	}
	r.State.Image.Build = catalogue.Build{Go: &catalogue.GoBuild{}}
	if failed := f.refuse(r); !strings.Contains(failed.Reason, "not one for files") {
		t.Errorf("with a recipe for Go: %v", failed)
	}
	failed = f.refuse(f.request(map[string]source.File{"l": {Content: "/x", Mode: source.ModeSymlink}, ".wh.a": {}, "m": {Content: "/y", Mode: source.ModeSymlink}}, catalogue.FilesBuild{}))
	for _, want := range []string{"l -> /x", "m -> /y"} {
		if !strings.Contains(failed.Reason, want) {
			t.Errorf("the reason %q lacks %q", failed.Reason, want)
		}
	}
}
