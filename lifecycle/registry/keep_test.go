package registry_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle"
)

// Builds of one fingerprint with other bytes each leave all of them listed.
func TestImagesOfOneFingerprintStayListed(t *testing.T) {
	t.Parallel()
	r, repo, fp := newRegistry(t, nil), proxied(t).Host()+"/dev/api", fingerprint("api")
	first := push(t, r, repo, newIndex(t, "linux/amd64"), fp)
	second := push(t, r, repo, newIndex(t, "linux/amd64"), fp)
	stored, err := r.List(t.Context(), repo)
	if err != nil || len(stored) != 2 {
		t.Fatalf("listed: %+v, %v", stored, err)
	}
	for _, s := range stored {
		if s.Fingerprint != fp || !slices.Contains(s.Tags, lifecycle.DigestTag(s.Digest)) {
			t.Errorf("listed: %+v", s)
		}
	}
	if found, err := r.Find(t.Context(), repo, fp); err != nil || found.Digest != second {
		t.Errorf("found %+v, %v", found, err)
	}
	if err := r.Has(t.Context(), repo, first); err != nil {
		t.Error(err)
	}
}

// What others push, BuildKit for example, is given its tag, once.
func TestKeep(t *testing.T) {
	t.Parallel()
	proxy := behindProxy(t)
	r, repo := newRegistry(t, nil), proxy.Host()+"/dev/web"
	index := newIndex(t, "linux/amd64")
	tag, err := name.NewTag(repo + ":fp-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(tag, index); err != nil {
		t.Fatal(err)
	}
	h, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	digest := lifecycle.Digest(h.String())
	for range 2 {
		if err := r.Keep(t.Context(), repo, digest); err != nil {
			t.Fatal(err)
		}
	}
	puts := 0
	for _, req := range proxy.Requests() {
		if req.Method == http.MethodPut && strings.HasSuffix(req.Path, "/manifests/"+lifecycle.DigestTag(digest)) {
			puts++
		}
	}
	if puts != 1 {
		t.Errorf("the tag was written %d times", puts)
	}
	if got, err := r.Resolve(t.Context(), repo+":"+lifecycle.DigestTag(digest)); err != nil || got != digest {
		t.Errorf("it leads to %s, %v", got, err)
	}
	gone := lifecycle.Digest("sha256:" + strings.Repeat("0", 64))
	wantError(t, r.Keep(t.Context(), repo, gone), lifecycle.ErrImageNotFound)
	// Who may only pull may keep what has its tag, and hears of the rest.
	proxy.Add(faultproxy.Rule{Method: http.MethodPut, Do: faultproxy.Answer(http.StatusForbidden)})
	if err := r.Keep(t.Context(), repo, digest); err != nil {
		t.Error(err)
	}
}

// The images of an index within an index are parts of the outer one.
func TestPartsOfNestedIndexes(t *testing.T) {
	t.Parallel()
	r, repo := newRegistry(t, nil), proxied(t).Host()+"/dev/api"
	inner := newIndex(t, "linux/amd64")
	outer := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{Add: inner})
	digest := push(t, r, repo, outer, fingerprint("api"))
	m, err := inner.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	stored, err := r.List(t.Context(), repo)
	if err != nil || len(stored) != 1 || stored[0].Digest != digest || len(stored[0].Parts) != 2 ||
		!slices.Contains(stored[0].Parts, lifecycle.Digest(m.Manifests[0].Digest.String())) {
		t.Errorf("listed: %+v, %v", stored, err)
	}
}

// A list of tags whose next page is itself, or always another, is an error.
func TestTagsWithoutEnd(t *testing.T) {
	t.Parallel()
	for what, next := range map[string]func(n int) string{
		"a page that leads to itself":      func(int) string { return "last=a" },
		"a page that always leads further": func(n int) string { return fmt.Sprintf("last=%d", n) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			proxy, r := proxied(t), newRegistry(t, nil)
			n := 0
			proxy.Add(faultproxy.Rule{Path: regexp.MustCompile(`/tags/list$`), Do: func(_ *faultproxy.Fault, w http.ResponseWriter, _ *http.Request) bool {
				n++
				w.Header().Set("Link", "</v2/dev/api/tags/list?"+next(n)+`>; rel="next"`)
				_, _ = w.Write([]byte(`{"name": "dev/api", "tags": ["a"]}`))
				return false
			}})
			_, err := r.List(t.Context(), proxy.Host()+"/dev/api")
			wantError(t, err, lifecycle.ErrUnreachable, "does not end")
		})
	}
}

// A manifest that names no configuration is what is wrong, and no login.
func TestManifestWithoutConfiguration(t *testing.T) {
	t.Parallel()
	r, repo := newRegistry(t, nil), proxied(t).Host()+"/dev/api"
	ref, err := name.NewTag(repo + ":x")
	if err != nil {
		t.Fatal(err)
	}
	bare := rawManifest{static.NewLayer([]byte(`{"schemaVersion": 2, "mediaType": "`+string(types.OCIManifestSchema1)+`"}`), types.OCIManifestSchema1)}
	h, err := bare.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Put(ref.Digest(h.String()), bare); err != nil {
		t.Fatal(err)
	}
	size, err := bare.Size()
	if err != nil {
		t.Fatal(err)
	}
	index := rawManifest{static.NewLayer(fmt.Appendf(nil, `{"schemaVersion": 2, "mediaType": %q, "manifests": [{"mediaType": %q, "digest": %q, "size": %d}]}`,
		types.OCIImageIndex, types.OCIManifestSchema1, h, size), types.OCIImageIndex)}
	if h, err = index.Digest(); err != nil {
		t.Fatal(err)
	}
	if err := remote.Put(ref.Digest(h.String()), index); err != nil {
		t.Fatal(err)
	}
	_, err = r.Verify(t.Context(), repo, lifecycle.Digest(h.String()))
	if err == nil || !strings.Contains(err.Error(), "names no configuration") || errors.Is(err, lifecycle.ErrUnreachable) {
		t.Errorf("got %v", err)
	}
}

// rawManifest puts bytes as they are.
type rawManifest struct{ v1.Layer }

func (m rawManifest) RawManifest() ([]byte, error) {
	in, err := m.Uncompressed()
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	return io.ReadAll(in)
}
