package files_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle/registry"
)

const module = "\x00asm\x01\x00\x00\x00"

// A file with a media type of its own is what ORAS makes of it.
func TestArtifactOfAFile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	files := map[string]source.File{"plugins/auth/filter.wasm": {Content: module}, "plugins/README.md": {}}
	for from, title := range map[string]string{
		"plugins":                  "auth/filter.wasm",
		"plugins/auth":             "filter.wasm",
		"plugins/auth/filter.wasm": "filter.wasm",
	} {
		r := f.request(files, catalogue.FilesBuild{From: from, MediaType: "application/wasm"}, "plugins/README.md")
		r.State.Image.Platforms = []string{"linux/amd64", "linux/arm64"}
		res := f.build(r)
		list, platforms := images(t, pulled(t, r, res))
		if diff := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, platforms); diff != "" {
			t.Errorf("platforms (-want +got):\n%s", diff)
		}
		want := map[string]any{
			"schemaVersion": 2.0,
			"mediaType":     "application/vnd.oci.image.manifest.v1+json",
			"artifactType":  "application/wasm",
			"config": map[string]any{
				"mediaType": "application/vnd.oci.empty.v1+json", "size": 2.0,
				"digest": "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
			},
			"layers": []any{map[string]any{
				"mediaType": "application/wasm", "size": float64(len(module)),
				"digest":      fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(module))),
				"annotations": map[string]any{"org.opencontainers.image.title": title},
			}},
		}
		for _, img := range list {
			if diff := cmp.Diff(want, manifestOf(t, img)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", from, diff)
			}
			if _, blob := onlyLayer(t, img); string(blob) != module {
				t.Errorf("the blob is %q", blob)
			}
			if config, err := img.RawConfigFile(); err != nil || string(config) != "{}" {
				t.Errorf("the configuration is %q, %v", config, err)
			}
		}
		if res.Size != int64(len(module)) {
			t.Errorf("the size is %d", res.Size)
		}
		// A delivery finds it complete, and for every platform that it is declared for.
		reg, err := registry.New(registry.Config{Insecure: true})
		if err != nil {
			t.Fatal(err)
		}
		found, err := reg.Verify(t.Context(), r.Repository, res.Digest)
		if diff := cmp.Diff(r.State.Image.Platforms, found.Platforms); err != nil || diff != "" || found.Fingerprint != r.State.Fingerprint {
			t.Errorf("the registry has %+v, %v", found, err)
		}
	}
}

// A folder with the media type of an archive is one, below root.
func TestArtifactOfAFolder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for mediaType, gzipped := range map[string]bool{
		"application/vnd.example.site.v1.tar+gzip": true,
		"application/vnd.example.site.v1.tar.gzip": true,
		"application/vnd.example.site+tar+gzip":    true,
		"application/x-tgz":                        true,
		"application/x-tar":                        false,
		"application/vnd.example.site.v1.tar":      false,
		"application/vnd.example.site.v1+tar":      false,
	} {
		r := f.request(map[string]source.File{"a/x": {Content: "x"}, "a/.wh.y": {}}, catalogue.FilesBuild{From: "a", Root: "/srv", MediaType: mediaType})
		list, _ := images(t, pulled(t, r, f.build(r)))
		_, blob := onlyLayer(t, list[0])
		if isGzip := bytes.HasPrefix(blob, []byte{0x1f, 0x8b}); isGzip != gzipped {
			t.Errorf("%s: compressed is %t", mediaType, isGzip)
		}
		if gzipped {
			zip, err := gzip.NewReader(bytes.NewReader(blob))
			if err != nil {
				t.Fatal(err)
			}
			var plain bytes.Buffer
			if _, err := plain.ReadFrom(zip); err != nil {
				t.Fatal(err)
			}
			blob = plain.Bytes()
		}
		want := []entry{{Name: "srv/", Mode: 0o755}, {Name: "srv/.wh.y", Mode: 0o644}, {Name: "srv/x", Mode: 0o644, Content: "x"}}
		if diff := cmp.Diff(want, unpack(t, bytes.NewReader(blob))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", mediaType, diff)
		}
		manifest := manifestOf(t, list[0])
		layer := manifest["layers"].([]any)[0].(map[string]any)
		if manifest["artifactType"] != mediaType || layer["mediaType"] != mediaType || layer["annotations"] != nil {
			t.Errorf("%s: the manifest is %v", mediaType, manifest)
		}
	}
}

// A file that from names goes in as it is, an archive too.
func TestArtifactOfAnArchive(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.request(map[string]source.File{"chart/shop-1.tgz": {Content: "as it is"}},
		catalogue.FilesBuild{From: "chart/shop-1.tgz", Root: "/", MediaType: "application/vnd.example.chart.v1.tar+gzip"})
	list, _ := images(t, pulled(t, r, f.build(r)))
	if _, blob := onlyLayer(t, list[0]); string(blob) != "as it is" {
		t.Errorf("the blob is %q", blob)
	}
}
