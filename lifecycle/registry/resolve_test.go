package registry_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/registry"
)

// tagged has a tag lead to something, as any other client does it.
func tagged(t *testing.T, reference string, what remote.Taggable) {
	t.Helper()
	ref, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Push(ref, what); err != nil {
		t.Fatal(err)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	host, r := devtest.Registry(t), newRegistry(t, nil)
	for _, platform := range []string{"linux/amd64", "linux/arm64"} { // the tag moves
		index := newIndex(t, platform)
		tagged(t, host+"/base:3", index)
		tagged(t, host+"/base", index)
		digest, err := index.Digest()
		if err != nil {
			t.Fatal(err)
		}
		for _, reference := range []string{host + "/base:3", host + "/base", host + "/base@" + digest.String(), host + "/base:3@" + digest.String()} {
			got, err := r.Resolve(t.Context(), reference)
			if err != nil || string(got) != digest.String() {
				t.Errorf("%s leads to %s, error %v, want %s", reference, got, err, digest)
			}
			lacks, err := r.Lacks(t.Context(), reference, []string{platform, "linux/s390x"})
			if err != nil || !slices.Equal(lacks, []string{"linux/s390x"}) {
				t.Errorf("%s lacks %v, error %v", reference, lacks, err)
			}
		}
	}
	_, err := r.Resolve(t.Context(), host+"/base:4")
	wantError(t, err, lifecycle.ErrImageNotFound, "resolve image "+host+"/base:4")
	_, err = r.Lacks(t.Context(), host+"/none", nil)
	wantError(t, err, lifecycle.ErrImageNotFound, host+"/none")
	_, err = r.Resolve(t.Context(), "me:hunter2@"+host+"/base:3")
	wantError(t, err, lifecycle.ErrSource, "!hunter2")
}

func TestAnImageThatIsNoIndex(t *testing.T) {
	t.Parallel()
	host, r := devtest.Registry(t), newRegistry(t, nil)
	index := newIndex(t, "linux/arm/v7")
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	img, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	tagged(t, host+"/base:3", img)
	got, err := r.Resolve(t.Context(), host+"/base:3")
	if err != nil || string(got) != manifest.Manifests[0].Digest.String() {
		t.Errorf("it leads to %s, error %v", got, err)
	}
	lacks, err := r.Lacks(t.Context(), host+"/base@"+string(got), []string{"linux/amd64", "linux/arm", "linux/arm/v7"})
	if want := []string{"linux/amd64", "linux/arm"}; err != nil || !slices.Equal(lacks, want) {
		t.Errorf("it lacks %v, error %v, want %v", lacks, err, want)
	}
}

// What is not changed costs one request that registries do not count as a pull.
func TestResolveIsOneHead(t *testing.T) {
	t.Parallel()
	proxy, r := proxied(t), newRegistry(t, nil)
	tagged(t, proxy.Host()+"/base:3", newIndex(t, "linux/amd64"))
	before := len(proxy.Requests())
	if _, err := r.Resolve(t.Context(), proxy.Host()+"/base:3"); err != nil {
		t.Fatal(err)
	}
	var asked []string
	for _, req := range proxy.Requests()[before:] {
		asked = append(asked, req.Method+" "+req.Path)
	}
	if want := []string{"GET /v2/", "HEAD /v2/base/manifests/3"}; !slices.Equal(asked, want) {
		t.Errorf("it asked %q, want %q", asked, want)
	}
}

// Some registries leave the digest out of an answer to HEAD, or do not know the
// method.
func TestResolveWithoutUsableHead(t *testing.T) {
	t.Parallel()
	for what, do := range map[string]faultproxy.Action{
		"405": faultproxy.Answer(http.StatusMethodNotAllowed),
		"no digest": func(_ *faultproxy.Fault, w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", string(types.OCIImageIndex))
			w.Header().Set("Content-Length", "0")
			w.WriteHeader(http.StatusOK)
			return false
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			proxy, r, index := proxied(t), newRegistry(t, nil), newIndex(t, "linux/amd64")
			tagged(t, proxy.Host()+"/base:3", index)
			fault := proxy.Add(faultproxy.Rule{Method: http.MethodHead, Do: do})
			digest, err := index.Digest()
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Resolve(t.Context(), proxy.Host()+"/base:3")
			if err != nil || string(got) != digest.String() || fault.Hits() != 1 {
				t.Errorf("it leads to %s, error %v, after %d faults", got, err, fault.Hits())
			}
		})
	}
}

func TestResolveGoesOnAfterFaults(t *testing.T) {
	t.Parallel()
	for how, action := range faults {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			proxy, r := proxied(t), newRegistry(t, nil)
			tagged(t, proxy.Host()+"/base:3", newIndex(t, "linux/amd64"))
			fault := proxy.Add(faultproxy.Rule{Path: regexp.MustCompile("/manifests/"), Times: 3, Do: action})
			digest, err := r.Resolve(t.Context(), proxy.Host()+"/base:3")
			if err != nil || fault.Hits() != 3 {
				t.Errorf("after %d faults: %v", fault.Hits(), err)
			}
			fault = proxy.Add(faultproxy.Rule{Path: regexp.MustCompile("/manifests/"), Times: 3, Do: action})
			if _, err := r.Lacks(t.Context(), proxy.Host()+"/base@"+string(digest), nil); err != nil || fault.Hits() != 3 {
				t.Errorf("after %d faults: %v", fault.Hits(), err)
			}
		})
	}
}

func TestInsecureHosts(t *testing.T) {
	t.Parallel()
	proxy, other := proxied(t), devtest.Registry(t)
	tagged(t, proxy.Host()+"/base:3", newIndex(t, "linux/amd64"))
	tagged(t, other+"/base:3", newIndex(t, "linux/amd64"))
	r, err := registry.New(registry.Config{InsecureHosts: []string{other}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Resolve(t.Context(), other+"/base:3"); err != nil {
		t.Errorf("the host that is allowed: %v", err)
	}
	before := len(proxy.Requests())
	_, err = r.Resolve(t.Context(), proxy.Host()+"/base:3")
	wantError(t, err, lifecycle.ErrUnreachable, "plain HTTP is not allowed here", "--insecure-registry "+proxy.Host())
	if n := len(proxy.Requests()) - before; n > 0 {
		t.Errorf("%d requests went over plain HTTP", n)
	}
	// Nor does a host that is allowed lead to one that is not.
	proxy.Add(faultproxy.Rule{Method: http.MethodHead, Do: func(_ *faultproxy.Fault, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Location", "http://"+other+"/v2/base/manifests/3?signature=s3cr3t")
		w.WriteHeader(http.StatusTemporaryRedirect)
		return false
	}})
	if r, err = registry.New(registry.Config{InsecureHosts: []string{proxy.Host()}}); err != nil {
		t.Fatal(err)
	}
	_, err = r.Resolve(t.Context(), proxy.Host()+"/base:3")
	wantError(t, err, lifecycle.ErrUnreachable, "plain HTTP is not allowed here", "!s3cr3t")
}

// The keychain of the user is asked, and what it says is for that host alone.
func TestResolveWithCredentials(t *testing.T) {
	t.Parallel()
	const password = "hunter2"
	proxy := proxied(t)
	tagged(t, proxy.Host()+"/base:3", newIndex(t, "linux/amd64"))
	proxy.Add(faultproxy.Rule{Do: unauthorized, Match: func(r *http.Request) bool {
		_, given, _ := r.BasicAuth()
		return given != password
	}})
	_, err := newRegistry(t, nil).Resolve(t.Context(), proxy.Host()+"/base:3")
	wantError(t, err, lifecycle.ErrUnreachable, "401", "docker login "+proxy.Host())
	r := newRegistry(t, keychain{authn.FromConfig(authn.AuthConfig{Username: "me", Password: password})})
	if _, err := r.Resolve(t.Context(), proxy.Host()+"/base:3"); err != nil {
		t.Error(err)
	}
	_, err = r.Resolve(t.Context(), proxy.Host()+"/base:4")
	wantError(t, err, lifecycle.ErrImageNotFound, "!"+password)
}

// A registry must not have its answers taken for what they are not.
func TestWhatIsNoManifest(t *testing.T) {
	t.Parallel()
	host, r := devtest.Registry(t), newRegistry(t, nil)
	for what, manifest := range map[string]struct {
		media types.MediaType
		data  string
	}{
		"an image that is no JSON":   {types.OCIManifestSchema1, "{"},
		"the old form of Docker":     {types.DockerManifestSchema1, `{"schemaVersion":1}`},
		"an empty image":             {types.OCIManifestSchema1, "{}"},
		"a configuration by itself":  {types.DockerConfigJSON, "{}"},
		"an index with no manifests": {types.OCIImageIndex, `{"schemaVersion":2}`},
	} {
		put(t, host+"/base:3", manifest.media, manifest.data)
		if _, err := r.Resolve(t.Context(), host+"/base:3"); err != nil {
			t.Fatal(err)
		}
		lacks, err := r.Lacks(t.Context(), host+"/base:3", []string{"linux/amd64"})
		if err == nil && !slices.Equal(lacks, []string{"linux/amd64"}) {
			t.Errorf("%s lacks %v", what, lacks)
		}
	}
}

func put(t *testing.T, reference string, media types.MediaType, data string) {
	t.Helper()
	ref, err := name.NewTag(reference)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut,
		"http://"+ref.RegistryStr()+"/v2/"+ref.RepositoryStr()+"/manifests/"+ref.TagStr(), strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", string(media))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatalf("put %s: %s, %v", reference, resp.Status, err)
	}
}
