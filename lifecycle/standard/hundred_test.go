package standard_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle"
	client "github.com/pharos-dev/pharos/lifecycle/registry"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// nothing is a builder of images with nothing in them.
type nothing struct{ registry *client.Registry }

func (n nothing) Build(ctx context.Context, r lifecycle.BuildRequest) (lifecycle.BuildResult, error) {
	platform := v1.Platform{OS: "linux", Architecture: "amd64"}
	img, err := mutate.ConfigFile(mutate.MediaType(empty.Image, types.OCIManifestSchema1),
		&v1.ConfigFile{OS: platform.OS, Architecture: platform.Architecture, RootFS: v1.RootFS{Type: "layers"}})
	if err != nil {
		return lifecycle.BuildResult{}, err
	}
	index := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &platform}})
	digest, err := n.registry.Push(ctx, r.Repository, index, r.State.Fingerprint)
	return lifecycle.BuildResult{Digest: digest, Platforms: []string{platform.String()}}, err
}

// TestAHundredImages holds what the registry is asked when nothing changed: one
// HEAD for each image, all of them together.
func TestAHundredImages(t *testing.T) {
	t.Parallel()
	const many = 100
	c := devtest.Cluster(t)
	s := newShop(t, c)
	proxy := s.proxy()
	catalogue, rest, _ := strings.Cut(s.git("show", "HEAD:pharos.yaml"), "images:\n")
	_, rest, _ = strings.Cut(rest, "delivery:")
	catalogue += "images:\n"
	files := map[string]string{"gitops/kustomization.yaml": "namespace: " + s.namespace + "\nresources: [settings.yaml]\n"}
	for i := range many {
		catalogue += fmt.Sprintf("- name: image-%d\n  build: {files: {}}\n  inputs: [files/%d]\n", i, i)
		files[fmt.Sprintf("files/%d", i)] = fmt.Sprintln(i)
	}
	files["pharos.yaml"] = catalogue + "delivery:" + strings.ReplaceAll(rest, s.registry, proxy.Host()) + "\n"
	s.write(files)
	s.commit("Sell a hundred things")
	config, err := standard.Config(s.target(), s.options(c.Config()))
	if err != nil {
		t.Fatal(err)
	}
	images, err := standard.NewRegistry(s.target(), s.options(c.Config()))
	if err != nil {
		t.Fatal(err)
	}
	config.Builders = map[string]lifecycle.Builder{"files": nothing{images}}
	l, err := lifecycle.New(config)
	if err != nil {
		t.Fatal(err)
	}
	request := lifecycle.ReconcileRequest{Commit: s.head(), Repository: s.repository()}
	if _, err := l.Reconcile(t.Context(), request); err != nil {
		t.Fatal(err)
	}

	// No HEAD is answered before all have been sent.
	var all sync.WaitGroup
	all.Add(many)
	proxy.Add(faultproxy.Rule{Method: http.MethodHead, Times: many, Do: func(*faultproxy.Fault, http.ResponseWriter, *http.Request) bool {
		all.Done()
		all.Wait()
		return true
	}})
	before := len(proxy.Requests())
	l, err = standard.New(s.target(), s.options(c.Config())) // which knows nothing yet
	if err != nil {
		t.Fatal(err)
	}
	res, err := l.Reconcile(t.Context(), request)
	if err != nil || res.Plan.Decision != lifecycle.DecideUnchanged {
		t.Fatalf("decision %s, %v: %s", res.Plan.Decision, err, strings.Join(res.Plan.Reasons, "; "))
	}
	asked := map[string]int{}
	for _, r := range proxy.Requests()[before:] {
		asked[r.Method+" "+r.Path]++
	}
	heads := 0
	for request, n := range asked {
		if strings.HasPrefix(request, "HEAD ") && strings.Contains(request, "/manifests/sha256:") && n == 1 {
			heads++
		} else if request != "GET /v2/" || n != 1 {
			t.Errorf("%s, %d times", request, n)
		}
	}
	if heads != many {
		t.Errorf("%d HEAD requests, want one for each of the %d images", heads, many)
	}
}
