package registry_test

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/registry"
)

func TestHasIsOneHead(t *testing.T) {
	t.Parallel()
	proxy, r := proxied(t), newRegistry(t, nil)
	repo := proxy.Host() + "/dev/api"
	digest := push(t, r, repo, newIndex(t, "linux/amd64"), fingerprint("api"))
	before := len(proxy.Requests())
	if err := r.Has(t.Context(), repo, digest); err != nil {
		t.Fatal(err)
	}
	requests := proxy.Requests()[before:]
	if len(requests) != 1 || requests[0].Method != http.MethodHead {
		t.Errorf("it asked %+v", requests)
	}
	err := r.Has(t.Context(), repo, lifecycle.Digest("sha256:"+strings.Repeat("0", 64)))
	wantError(t, err, lifecycle.ErrImageNotFound, "look for image")
	// Some registries answer HEAD requests badly, or not at all.
	fault := proxy.Add(faultproxy.Rule{Method: http.MethodHead, Do: faultproxy.Answer(http.StatusMethodNotAllowed)})
	if err := r.Has(t.Context(), repo, digest); err != nil || fault.Hits() != 1 {
		t.Errorf("without HEAD: %v", err)
	}
}

// storedTests are what holds of every registry.
func storedTests(t *testing.T, host string) {
	r := newRegistry(t, nil)
	repo := host + "/dev/stored"
	if stored, err := r.List(t.Context(), repo); err != nil || len(stored) > 0 {
		t.Errorf("a repository that is not there: %+v, %v", stored, err)
	}
	one, two := newIndex(t, "linux/amd64", "linux/arm64"), newIndex(t, "linux/amd64")
	first, second := push(t, r, repo, one, fingerprint("one")), push(t, r, repo, two, fingerprint("two"))
	manifest, err := one.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var parts []lifecycle.Digest
	for _, m := range manifest.Manifests {
		parts = append(parts, lifecycle.Digest(m.Digest.String()))
	}
	slices.Sort(parts)
	img, err := one.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := name.NewTag(repo + ":latest")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(foreign, img); err != nil {
		t.Fatal(err)
	}
	other, err := registry.Tag(fingerprint("one"))
	if err != nil {
		t.Fatal(err)
	}
	found, err := remote.Index(foreign.Digest(string(first)))
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Tag(foreign.Tag("v1"), found); err != nil {
		t.Fatal(err)
	}
	stored, err := r.List(t.Context(), repo)
	if err != nil {
		t.Fatal(err)
	}
	byDigest := map[lifecycle.Digest]lifecycle.StoredImage{}
	for _, s := range stored {
		byDigest[s.Digest] = s
	}
	want := lifecycle.StoredImage{Digest: first, Tags: []string{lifecycle.DigestTag(first), other, "v1"}, Fingerprint: fingerprint("one"), Parts: parts}
	if diff := cmp.Diff(want, byDigest[first]); diff != "" || len(stored) != 3 {
		t.Errorf("List has %d images (-want +got):\n%s", len(stored), diff)
	}

	untagged := want
	untagged.Tags = nil
	if got, err := r.Stored(t.Context(), repo, first); err != nil || !cmp.Equal(got, untagged) {
		t.Errorf("Stored says %+v, %v", got, err)
	}

	if err := r.Delete(t.Context(), repo, byDigest[first]); err != nil {
		t.Fatal(err)
	}
	_, err = r.Stored(t.Context(), repo, first)
	wantError(t, err, lifecycle.ErrImageNotFound)
	wantError(t, r.Has(t.Context(), repo, first), lifecycle.ErrImageNotFound)
	_, err = r.Find(t.Context(), repo, fingerprint("one"))
	wantError(t, err, lifecycle.ErrImageNotFound)
	if stored, err = r.List(t.Context(), repo); err != nil || len(stored) != 2 {
		t.Errorf("after a delete: %+v, %v", stored, err)
	}
	if err := r.Has(t.Context(), repo, second); err != nil {
		t.Errorf("the other image: %v", err)
	}
	if _, err := remote.Head(foreign); err != nil {
		t.Errorf("the other tag: %v", err)
	}
	wantError(t, r.Delete(t.Context(), repo, byDigest[first]), lifecycle.ErrImageNotFound)
	// What was deleted can be pushed again.
	if again := push(t, r, repo, one, fingerprint("one")); again != first {
		t.Errorf("pushed again, it is %s", again)
	}
	wantValid(t, repo, first)
}

func TestStoredImages(t *testing.T) {
	t.Parallel()
	storedTests(t, proxied(t).Host())
}

// A tag that was moved while its image was deleted leads to another one now.
func TestDeleteLeavesTagsThatMoved(t *testing.T) {
	t.Parallel()
	proxy, r := proxied(t), newRegistry(t, nil)
	repo := proxy.Host() + "/dev/api"
	first := push(t, r, repo, newIndex(t, "linux/amd64"), fingerprint("api"))
	stored, err := r.List(t.Context(), repo)
	if err != nil {
		t.Fatal(err)
	}
	second := push(t, r, repo, newIndex(t, "linux/amd64"), fingerprint("api"))
	if err := r.Delete(t.Context(), repo, stored[0]); err != nil {
		t.Fatal(err)
	}
	wantError(t, r.Has(t.Context(), repo, first), lifecycle.ErrImageNotFound)
	if got, err := r.Find(t.Context(), repo, fingerprint("api")); err != nil || got.Digest != second {
		t.Errorf("Find says %v, %v", got, err)
	}
}

func TestDeleteThatIsNotAllowed(t *testing.T) {
	t.Parallel()
	proxy, r := proxied(t), newRegistry(t, nil)
	repo := proxy.Host() + "/dev/api"
	digest := push(t, r, repo, newIndex(t, "linux/amd64"), fingerprint("api"))
	for code, words := range map[int][]string{
		http.StatusMethodNotAllowed: {"405", "does not allow deletes", "storage.delete.enabled"}, http.StatusForbidden: {"403", "Ask for access"},
	} {
		fault := proxy.Add(faultproxy.Rule{Method: http.MethodDelete, Do: faultproxy.Answer(code)})
		wantError(t, r.Delete(t.Context(), repo, lifecycle.StoredImage{Digest: digest}), lifecycle.ErrUnreachable, append(words, "delete image", repo)...)
		fault.Remove()
	}
	if err := r.Has(t.Context(), repo, digest); err != nil {
		t.Error(err)
	}
}

// brokenLayer fails when it is read.
type brokenLayer struct {
	v1.Layer
	err error
}

func (b brokenLayer) Compressed() (io.ReadCloser, error) {
	return io.NopCloser(io.MultiReader(strings.NewReader("begin"), failing{b.err})), nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// A machine that cannot read its own files must not blame the registry.
func TestFaultsOfTheMachine(t *testing.T) {
	t.Parallel()
	_, missing := os.Open(filepath.Join(t.TempDir(), "layer.tar.gz"))
	for name, err := range map[string]error{
		"a broken disk":        &fs.PathError{Op: "read", Path: "/var/tmp/layer.tar.gz", Err: syscall.EIO},
		"a full disk":          &fs.PathError{Op: "write", Path: "/var/tmp/layer.tar.gz", Err: syscall.ENOSPC},
		"too many open files":  os.NewSyscallError("socket", syscall.EMFILE),
		"a file that is gone":  missing,
		"a number by itself":   syscall.EIO,
		"a connection, though": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy := proxied(t)
			if err == nil {
				proxy.Add(faultproxy.Rule{Path: regexp.MustCompile("/blobs/"), Do: faultproxy.Cut()})
				err = io.EOF
			}
			layer := brokenLayer{static.NewLayer([]byte(strings.Repeat("x", 1<<16)), types.OCILayer), err}
			img, aerr := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), layer)
			if aerr != nil {
				t.Fatal(aerr)
			}
			index := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{
				Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}},
			})
			_, perr := newRegistry(t, nil).Push(t.Context(), proxy.Host()+"/dev/api", index, fingerprint("api"))
			if perr == nil {
				t.Fatal("it was pushed")
			}
			if network := errors.Is(perr, lifecycle.ErrUnreachable); network != (err == io.EOF) {
				t.Errorf("unreachable %t: %v", network, perr)
			}
			if err != io.EOF && (!strings.Contains(perr.Error(), "This machine is to blame") || !errors.Is(perr, err)) {
				t.Errorf("got %v", perr)
			}
		})
	}
}
