package registry_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	fake "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle"
)

// parts are the addresses, below a repository, of all that an index for one
// platform names, with the words that say which of them is lost.
func parts(t *testing.T, index v1.ImageIndex) map[string]struct{ path, words string } {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	child := manifest.Manifests[0]
	img, err := index.Image(child.Digest)
	if err != nil {
		t.Fatal(err)
	}
	m, err := img.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]struct{ path, words string }{
		"an image's manifest": {"/manifests/" + child.Digest.String(), "it lost the manifest " + child.Digest.String() + " for linux/arm64"},
		"a configuration":     {"/blobs/" + m.Config.Digest.String(), "it lost the configuration " + m.Config.Digest.String()},
		"a layer":             {"/blobs/" + m.Layers[1].Digest.String(), "it lost the layer " + m.Layers[1].Digest.String()},
	}
}

// What a registry lost is noticed by all who do not only ask for the index, and
// is there again after a push.
func TestARegistryThatLostAPart(t *testing.T) {
	t.Parallel()
	index, fp := newIndex(t, "linux/arm64"), fingerprint("api")
	for what, part := range parts(t, index) {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			host, r := devtest.Registry(t, fake.WithBlobHandler(fake.NewInMemoryBlobHandler())), newRegistry(t, nil)
			proxy, err := faultproxy.Start("http://"+host, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(proxy.Close)
			repo := proxy.Host() + "/dev/api"
			digest := push(t, r, repo, index, fp)
			want, err := r.Verify(t.Context(), repo, digest)
			if err != nil {
				t.Fatal(err)
			}

			remove(t, "http://"+host+"/v2/dev/api"+part.path)
			if _, err := r.Lookup(t.Context(), repo, digest); err != nil {
				t.Errorf("Lookup asks for more than the index: %v", err)
			}
			_, err = r.Verify(t.Context(), repo, digest)
			wantError(t, err, lifecycle.ErrImageNotFound, "verify image "+repo, part.words)
			_, err = r.Find(t.Context(), repo, fp)
			wantError(t, err, lifecycle.ErrImageNotFound, "find image "+repo, part.words)

			before := len(proxy.Requests())
			if again := push(t, r, repo, index, fp); again != digest {
				t.Errorf("pushed again, it is %s", again)
			}
			var sent []string
			for _, req := range proxy.Requests()[before:] {
				if req.Method == http.MethodPut && !strings.Contains(req.Path, "/manifests/fp-") && !strings.Contains(req.Path, "/manifests/d-") {
					sent = append(sent, req.Path)
				}
			}
			if len(sent) != 1 {
				t.Errorf("to mend it, these were sent: %q", sent)
			}
			got, err := r.Verify(t.Context(), repo, digest)
			if err != nil || got.Digest != want.Digest || got.Fingerprint != fp {
				t.Errorf("after that, Verify says %v, %v", got, err)
			}
			wantValid(t, repo, digest)
		})
	}
}

func remove(t *testing.T, address string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusAccepted {
		t.Fatalf("delete %s: %s, %v", address, resp.Status, err)
	}
}

// wantValid reads every byte of an index, as another client does.
func wantValid(t *testing.T, repository string, digest lifecycle.Digest) {
	t.Helper()
	ref, err := name.NewDigest(repository + "@" + string(digest))
	if err != nil {
		t.Fatal(err)
	}
	stored, err := remote.Index(ref)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(stored); err != nil {
		t.Errorf("the index is not valid: %v", err)
	}
}

func TestVerifyAsksOnceForEachPart(t *testing.T) {
	t.Parallel()
	proxy, r := proxied(t), newRegistry(t, nil)
	repo := proxy.Host() + "/dev/api"
	digest := push(t, r, repo, newIndex(t, "linux/amd64", "linux/arm64"), fingerprint("api"))
	before := len(proxy.Requests())
	if _, err := r.Verify(t.Context(), repo, digest); err != nil {
		t.Fatal(err)
	}
	// The index; and twice a manifest, a configuration and two layers.
	if got, want := len(proxy.Requests())-before, 1+2*4; got != want {
		t.Errorf("%d requests, want %d", got, want)
	}
}

func TestVerifyGoesOnAfterFaults(t *testing.T) {
	t.Parallel()
	for how, action := range faults {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			proxy, r := proxied(t), newRegistry(t, nil)
			repo := proxy.Host() + "/dev/api"
			digest := push(t, r, repo, newIndex(t, "linux/amd64"), fingerprint("api"))
			fault := proxy.Add(faultproxy.Rule{Method: http.MethodHead, Path: regexp.MustCompile("/blobs/"), Times: 3, Do: action})
			if _, err := r.Verify(t.Context(), repo, digest); err != nil || fault.Hits() != 3 {
				t.Errorf("after %d faults: %v", fault.Hits(), err)
			}
			// A registry that fails is not one that lost something.
			proxy.Add(faultproxy.Rule{Method: http.MethodHead, Path: regexp.MustCompile("/blobs/"), Do: faultproxy.Answer(http.StatusForbidden)})
			_, err := r.Verify(t.Context(), repo, digest)
			wantError(t, err, lifecycle.ErrUnreachable, "403", "!"+lifecycle.ErrImageNotFound.Error())
		})
	}
}

// An index may hold indexes.
func TestVerifyAnIndexInAnIndex(t *testing.T) {
	t.Parallel()
	host, r, fp := devtest.Registry(t), newRegistry(t, nil), fingerprint("api")
	inner := newIndex(t, "linux/amd64")
	outer := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{Add: inner})
	digest := push(t, r, host+"/dev/api", outer, fp)
	manifest, err := inner.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	lost := manifest.Manifests[0].Digest.String()
	remove(t, "http://"+host+"/v2/dev/api/manifests/"+lost)
	_, err = r.Verify(t.Context(), host+"/dev/api", digest)
	wantError(t, err, lifecycle.ErrImageNotFound, "it lost the manifest "+lost)
	push(t, r, host+"/dev/api", outer, fp)
	if _, err = r.Verify(t.Context(), host+"/dev/api", digest); err != nil {
		t.Error(err)
	}
}
