package registry_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/registry"
)

func TestPushLookupFind(t *testing.T) {
	t.Parallel()
	repo, r, fp := devtest.Registry(t)+"/dev/api", newRegistry(t, nil), fingerprint("api")
	index := newIndex(t, "linux/arm64/v8", "linux/amd64", "linux/arm/v6", "linux/arm", "unknown/unknown")
	index, ok := mutate.Annotations(index, map[string]string{"pharos.dev/toolchain": "go1.2.3"}).(v1.ImageIndex)
	if !ok {
		t.Fatal("annotating an index makes something else of it")
	}
	digest := push(t, r, repo, index, fp)

	want := lifecycle.RegistryImage{
		Digest: digest, Fingerprint: fp, Toolchain: "go1.2.3",
		Platforms: []string{"linux/amd64", "linux/arm/v6", "linux/arm/v7", "linux/arm64"},
	}
	got, err := r.Lookup(t.Context(), repo, digest)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Lookup (-want +got):\n%s", diff)
	}
	if got, err = r.Find(t.Context(), repo, fp); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Find (-want +got):\n%s", diff)
	}
	// As any other client sees it.
	wantValid(t, repo, digest)
}

func TestWhatIsNotThere(t *testing.T) {
	t.Parallel()
	repo, r := devtest.Registry(t)+"/dev/api", newRegistry(t, nil)
	nothing := lifecycle.Digest("sha256:" + strings.Repeat("0", 64))
	for _, situation := range []string{"no repository", "a repository with another image"} {
		_, err := r.Lookup(t.Context(), repo, nothing)
		wantError(t, err, lifecycle.ErrImageNotFound, repo)
		_, err = r.Find(t.Context(), repo, fingerprint("nothing"))
		wantError(t, err, lifecycle.ErrImageNotFound, repo)
		_, err = r.Image(t.Context(), repo+"@"+string(nothing), "linux/amd64")
		wantError(t, err, lifecycle.ErrImageNotFound, repo)
		if t.Failed() {
			t.Fatalf("with %s", situation)
		}
		push(t, r, repo, newIndex(t, "linux/amd64"), fingerprint("something"))
	}
}

// Anyone who may push can move a tag.
func TestATagIsNoEvidence(t *testing.T) {
	t.Parallel()
	repo, r := devtest.Registry(t)+"/dev/api", newRegistry(t, nil)
	wanted, other := fingerprint("wanted"), newIndex(t, "linux/amd64")
	tag, err := registry.Tag(wanted)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.NewTag(repo + ":" + tag)
	if err != nil {
		t.Fatal(err)
	}
	annotated, ok := mutate.Annotations(other, map[string]string{"pharos.dev/fingerprint": string(fingerprint("other"))}).(v1.ImageIndex)
	if !ok {
		t.Fatal("annotating an index makes something else of it")
	}
	manifest, err := other.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	img, err := other.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	for what, write := range map[string]func() error{
		"an index without a fingerprint":  func() error { return remote.WriteIndex(ref, other) },
		"an index of another fingerprint": func() error { return remote.WriteIndex(ref, annotated) },
		"an image that is no index":       func() error { return remote.Write(ref, img) },
	} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Find(t.Context(), repo, wanted); err == nil {
			t.Errorf("%s is taken for what was looked for", what)
		} else {
			wantError(t, err, lifecycle.ErrImageNotFound)
		}
	}
	digest, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Lookup(t.Context(), repo, lifecycle.Digest(digest.String())); err == nil || !strings.Contains(err.Error(), "not an image index") {
		t.Errorf("Lookup of an image that is no index: %v", err)
	}
	// A push moves the tag back.
	want := push(t, r, repo, newIndex(t, "linux/amd64"), wanted)
	if got, err := r.Find(t.Context(), repo, wanted); err != nil || got.Digest != want {
		t.Errorf("after a push, Find says %v, %v", got, err)
	}
}

func TestImageOfAPlatform(t *testing.T) {
	t.Parallel()
	repo, r := devtest.Registry(t)+"/bases/static", newRegistry(t, nil)
	ref := repo + "@" + string(push(t, r, repo, newIndex(t, "linux/amd64", "linux/amd64/v3", "linux/arm/v6", "unknown/unknown"), fingerprint("base")))
	for want, has := range map[string]string{
		"linux/amd64": "linux/amd64", "linux/amd64/v3": "linux/amd64/v3", "linux/amd64/v2": "linux/amd64", "linux/arm/v6": "linux/arm/v6",
	} {
		img, err := r.Image(t.Context(), ref, want)
		if err != nil {
			t.Fatal(err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if got := config.Platform().String(); got != has {
			t.Errorf("for %s got the image for %s, want %s", want, got, has)
		}
		if err := validate.Image(img); err != nil {
			t.Error(err)
		}
		// By its own digest, it is for one platform only.
		digest, err := img.Digest()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Image(t.Context(), repo+"@"+digest.String(), want); err != nil {
			t.Error(err)
		}
		_, err = r.Image(t.Context(), repo+"@"+digest.String(), "linux/s390x")
		wantError(t, err, lifecycle.ErrSource, "it is for "+has+", not for linux/s390x")
	}
	_, err := r.Image(t.Context(), ref, "linux/s390x")
	wantError(t, err, lifecycle.ErrSource, "no image for linux/s390x, only for linux/amd64, linux/amd64/v3, linux/arm/v6")
	_, err = r.Image(t.Context(), repo+":latest", "linux/amd64")
	wantError(t, err, lifecycle.ErrSource, repo)
}

func TestNamesThatAreNone(t *testing.T) {
	t.Parallel()
	r := newRegistry(t, nil)
	_, err := r.Lookup(t.Context(), "localhost:5000/UPPER", lifecycle.Digest("sha256:"+strings.Repeat("0", 64)))
	wantError(t, err, lifecycle.ErrSource, "localhost:5000/UPPER")
	_, err = r.Lookup(t.Context(), "localhost:5000/dev", "sha256:short")
	wantError(t, err, lifecycle.ErrSource, "localhost:5000/dev@sha256:short")
	_, err = r.Push(t.Context(), "me:hunter2@localhost:5000/dev", newIndex(t, "linux/amd64"), fingerprint("x"))
	wantError(t, err, lifecycle.ErrSource, "@localhost:5000/dev", "!hunter2", "!me:")
	for _, fp := range []string{"", "sha256:", "sha256:" + strings.Repeat("G", 64), strings.Repeat("0", 64), "sha256:" + strings.Repeat("0", 63)} {
		if tag, err := registry.Tag(catalogue.Fingerprint(fp)); err == nil {
			t.Errorf("%q has the tag %q", fp, tag)
		}
	}
}
