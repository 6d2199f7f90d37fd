package files_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
)

func TestImage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.request(site, catalogue.FilesBuild{From: "site/public", Root: "/srv/www"})
	r.State.Image.Platforms = []string{"linux/arm64", "linux/amd64", "linux/arm/v7", "linux/amd64"}
	res := f.build(r)
	index := pulled(t, r, res)
	list, platforms := images(t, index)
	want := lifecycle.BuildResult{Digest: res.Digest, Platforms: []string{"linux/amd64", "linux/arm/v7", "linux/arm64"}, Size: res.Size}
	if diff := cmp.Diff(want, res); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Platforms, platforms); diff != "" {
		t.Errorf("platforms (-want +got):\n%s", diff)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"pharos.dev/fingerprint": string(r.State.Fingerprint)}, manifest.Annotations); diff != "" || manifest.MediaType != types.OCIImageIndex {
		t.Errorf("a %s with annotations (-want +got):\n%s", manifest.MediaType, diff)
	}
	shared := map[string]bool{}
	for i, img := range list {
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Platform().String() != platforms[i] || config.Created.Unix() != 0 {
			t.Errorf("the image of %s is for %s, created %v", platforms[i], config.Platform(), config.Created)
		}
		if diff := cmp.Diff(v1.Config{}, config.Config); diff != "" {
			t.Errorf("something is to be run (-want +got):\n%s", diff)
		}
		l, blob := onlyLayer(t, img)
		digest, err := l.Digest()
		if err != nil {
			t.Fatal(err)
		}
		shared[digest.String()] = true
		if int64(len(blob)) != res.Size || mediaType(t, l) != types.OCILayer {
			t.Errorf("a %s of %d bytes; the result says %d", mediaType(t, l), len(blob), res.Size)
		}
	}
	if len(shared) != 1 {
		t.Errorf("the platforms do not share their layer: %v", slices.Collect(maps.Keys(shared)))
	}
	wantEntries := []entry{
		{Name: "srv/", Mode: 0o755},
		{Name: "srv/www/", Mode: 0o755},
		{Name: "srv/www/bin/", Mode: 0o755},
		{Name: "srv/www/bin/check", Mode: 0o755, Content: "#!/bin/sh\n"},
		{Name: "srv/www/css.old", Mode: 0o644, Content: "sorts before css/\n"},
		{Name: "srv/www/css/", Mode: 0o755},
		{Name: "srv/www/css/a.css", Mode: 0o644, Content: "h1 {}\n"},
		{Name: "srv/www/index.html", Mode: 0o644, Content: "<h1>Shop</h1>\n"},
		{Name: "srv/www/latest", Mode: 0o777, Link: "css/a.css"},
		{Name: "srv/www/styles", Mode: 0o777, Link: "css"},
		{Name: "srv/www/ünï cöde/", Mode: 0o755},
		{Name: "srv/www/ünï cöde/ß.html", Mode: 0o644, Content: "ß"},
	}
	entries := unpacked(t, list[0])
	if diff := cmp.Diff(wantEntries, entries); diff != "" {
		t.Errorf("layer (-want +got):\n%s", diff)
	}
	if !slices.IsSortedFunc(entries, func(a, b entry) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the layer is not sorted")
	}
}

// The whole pruned tree goes to the root by default, and nothing but it.
func TestImageOfAllInputs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.request(map[string]source.File{"a/b": {Content: "b"}, "c": {}, "d": {}}, catalogue.FilesBuild{}, "d")
	list, _ := images(t, pulled(t, r, f.build(r)))
	want := []entry{{Name: "a/", Mode: 0o755}, {Name: "a/b", Mode: 0o644, Content: "b"}, {Name: "c", Mode: 0o644}}
	if diff := cmp.Diff(want, unpacked(t, list[0])); diff != "" {
		t.Errorf("layer (-want +got):\n%s", diff)
	}
}

// The media types of ordinary layers make ordinary images, which every runtime can
// pull.
func TestImageByMediaType(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	plain := f.build(f.request(site, catalogue.FilesBuild{From: "site/public"}))
	named := f.build(f.request(site, catalogue.FilesBuild{From: "site/public", MediaType: "application/vnd.oci.image.layer.v1.tar+gzip"}))
	if plain.Digest != named.Digest {
		t.Errorf("the default is not the media type of an ordinary layer: %s, %s", plain.Digest, named.Digest)
	}
	r := f.request(site, catalogue.FilesBuild{From: "site/public", MediaType: "application/vnd.oci.image.layer.v1.tar"})
	list, _ := images(t, indexOf(t, r, f.build(r)))
	if err := validate.Image(list[0], validate.Fast); err != nil {
		t.Errorf("the pushed image is not valid: %v", err)
	}
	l, blob := onlyLayer(t, list[0])
	config, err := list[0].ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if digest, err := l.Digest(); err != nil || config.RootFS.DiffIDs[0] != digest || digest.Hex != fmt.Sprintf("%x", sha256.Sum256(blob)) {
		t.Errorf("the layer %s has the DiffID %v, %v", digest, config.RootFS.DiffIDs, err)
	}
	if mediaType(t, l) != types.OCIUncompressedLayer || len(unpack(t, bytes.NewReader(blob))) != 10 {
		t.Errorf("a %s of %d bytes", mediaType(t, l), len(blob))
	}
	if manifest := manifestOf(t, list[0]); manifest["artifactType"] != nil {
		t.Errorf("an image is an artifact of the type %v", manifest["artifactType"])
	}
}

// An image holds what "git archive" takes out of the same commit.
func TestImageIsWhatGitArchives(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	repo := repository(t, with(site, map[string]source.File{
		"site/public/" + strings.Repeat("long/", 40) + strings.Repeat("n", 120): {Content: "long"},
		"site/public/big": {Content: strings.Repeat("0123456789abcdef", 1<<16)},
		"site/public/-":   {Content: ""},
	}))
	tree := treeAt(t, repo)
	r := request(f.host, tree, tree, catalogue.FilesBuild{From: "site/public", Root: "/"})
	list, _ := images(t, pulled(t, r, f.build(r)))

	archive, err := exec.CommandContext(t.Context(), "git", "-C", repo, "-c", "tar.umask=0022", "archive", "HEAD:site/public").Output()
	if err != nil {
		t.Fatal(err)
	}
	byName := func(list []entry) map[string]entry {
		m := map[string]entry{}
		for _, e := range list {
			if e.Link != "" {
				e.Mode = 0 // of a link it has no meaning
			}
			m[e.Name] = e
		}
		return m
	}
	theirs := byName(gitEntries(t, archive))
	if diff := cmp.Diff(theirs, byName(unpacked(t, list[0]))); diff != "" {
		t.Errorf("(-git archive +image):\n%s", diff)
	}
	if len(theirs) < 50 {
		t.Errorf("git archived %d entries", len(theirs))
	}

	// And what tar makes of it on a disk is what git makes of it.
	l, _ := onlyLayer(t, list[0])
	layer, err := l.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer layer.Close()
	dir := filepath.Join(t.TempDir())
	extract := exec.CommandContext(t.Context(), "tar", "-x", "-C", dir)
	extract.Stdin = layer
	if out, err := extract.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	diff := exec.CommandContext(t.Context(), "diff", "-r", "--no-dereference", dir, filepath.Join(repo, "site/public"))
	if out, err := diff.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
