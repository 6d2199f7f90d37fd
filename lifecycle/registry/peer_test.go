package registry_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/pharos-dev/pharos/internal/devenv/peers"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/registry"
)

// program builds the registry of the CNCF, whose code is none of what the tests in
// this process use.
var program = sync.OnceValues(func() (string, error) {
	return peers.Binary(context.Background(), peers.Program{
		Name: "registry", ModuleDir: filepath.Join("internal", "peer"), Package: ".", Env: []string{"CGO_ENABLED=0"},
	}, os.Stderr)
})

// distribution starts that registry, with an empty folder, and returns its
// host:port.
func distribution(t *testing.T) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, t.TempDir())
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the registry did not start")
	}
	return lines.Text()
}

// behindProxy starts a distribution registry behind a fault proxy.
func behindProxy(t *testing.T) *faultproxy.Proxy {
	t.Helper()
	p, err := faultproxy.Start("http://"+distribution(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// TestAnotherRegistry has all that this package does done by another registry.
func TestAnotherRegistry(t *testing.T) {
	t.Parallel()
	host := distribution(t)
	r, repo, fp := newRegistry(t, nil), host+"/dev/api", fingerprint("api")
	_, err := r.Find(t.Context(), repo, fp)
	wantError(t, err, lifecycle.ErrImageNotFound, repo)
	wantError(t, r.Has(t.Context(), repo, lifecycle.Digest("sha256:"+strings.Repeat("0", 64))), lifecycle.ErrImageNotFound, repo)

	digest := push(t, r, repo, newIndex(t, "linux/arm64/v8", "linux/amd64"), fp)
	if err := r.Has(t.Context(), repo, digest); err != nil {
		t.Error(err)
	}
	for what, ask := range map[string]func() (lifecycle.RegistryImage, error){
		"Lookup": func() (lifecycle.RegistryImage, error) { return r.Lookup(t.Context(), repo, digest) },
		"Verify": func() (lifecycle.RegistryImage, error) { return r.Verify(t.Context(), repo, digest) },
		"Find":   func() (lifecycle.RegistryImage, error) { return r.Find(t.Context(), repo, fp) },
	} {
		if got, err := ask(); err != nil || got.Digest != digest || got.Fingerprint != fp || strings.Join(got.Platforms, " ") != "linux/amd64 linux/arm64" {
			t.Errorf("%s says %+v, %v", what, got, err)
		}
	}
	tag, err := registry.Tag(fp)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Resolve(t.Context(), repo+":"+tag); err != nil || got != digest {
		t.Errorf("Resolve says %s, %v", got, err)
	}
	if _, err := r.Image(t.Context(), repo+"@"+string(digest), "linux/arm64"); err != nil {
		t.Error(err)
	}
	wantValid(t, repo, digest)
	storedTests(t, host)
}

func TestAnotherRegistryWithFaults(t *testing.T) {
	t.Parallel()
	for what, rule := range pushRequests {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			proxy, r, fp := behindProxy(t), newRegistry(t, nil), fingerprint("api")
			rule := rule
			rule.Times, rule.Do, rule.AfterUpstream = 2, faultproxy.Cut(), true
			fault := proxy.Add(rule)
			repo := proxy.Host() + "/dev/api"
			digest := push(t, r, repo, newIndex(t, "linux/amd64"), fp)
			if fault.Hits() != 2 {
				t.Errorf("%d requests failed, want 2", fault.Hits())
			}
			fault.Remove()
			if got, err := r.Find(t.Context(), repo, fp); err != nil || got.Digest != digest {
				t.Errorf("Find says %v, %v", got, err)
			}
		})
	}
}

// TestBasesAreMounted pushes an image on a base that another repository of the
// registry has: of the base, nothing is sent.
func TestBasesAreMounted(t *testing.T) {
	t.Parallel()
	proxy, r := behindProxy(t), newRegistry(t, nil)
	base := proxy.Host() + "/bases/static"
	ref := base + "@" + string(push(t, r, base, newIndex(t, "linux/amd64"), fingerprint("base")))
	before := len(proxy.Requests())
	img, err := r.Image(t.Context(), ref, "linux/amd64")
	if err != nil {
		t.Fatal(err)
	}
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	program, err := random.Layer(1<<10, types.OCILayer)
	if err != nil {
		t.Fatal(err)
	}
	if img, err = mutate.AppendLayers(img, program); err != nil {
		t.Fatal(err)
	}
	index := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{
		Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}},
	})
	repo := proxy.Host() + "/dev/api"
	digest := push(t, r, repo, index, fingerprint("api"))
	mounted, sent, read := 0, 0, 0
	for _, req := range proxy.Requests()[before:] {
		switch {
		case req.Method == http.MethodPost && strings.Contains(req.Query, "mount=") && strings.Contains(req.Query, "from=bases"):
			mounted++
		case req.Method == http.MethodPatch:
			sent++
		}
		for _, l := range layers {
			if d, err := l.Digest(); err != nil || req.Method == http.MethodGet && strings.HasSuffix(req.Path, d.String()) {
				read++
			}
		}
	}
	if mounted != len(layers) || sent != 2 || read > 0 { // the program's layer and the configuration
		t.Errorf("%d blobs were mounted, %d sent, and %d of the base read; want %d, 2 and 0", mounted, sent, read, len(layers))
	}
	if _, err := r.Verify(t.Context(), repo, digest); err != nil {
		t.Error(err)
	}
	wantValid(t, repo, digest)
}

// pushTask is what a process that is killed is told.
type pushTask struct{ Layout, Repository string }

const pushEnv = "PHAROS_TEST_PUSH"

func TestMain(m *testing.M) {
	if task := os.Getenv(pushEnv); task != "" {
		if err := pushLayout(task); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(3) // it should have been killed
	}
	os.Exit(m.Run())
}

func pushLayout(task string) error {
	var p pushTask
	if err := json.Unmarshal([]byte(task), &p); err != nil {
		return err
	}
	index, err := layout.ImageIndexFromPath(p.Layout)
	if err != nil {
		return err
	}
	r, err := registry.New(registry.Config{Insecure: true})
	if err != nil {
		return err
	}
	_, err = r.Push(context.Background(), p.Repository, index, fingerprint("api"))
	return err
}

// TestPushThatWasKilled stalls the last blob of a push, and kills its process. The
// next push sends that blob alone.
func TestPushThatWasKilled(t *testing.T) {
	t.Parallel()
	proxy := behindProxy(t)
	dir, repo := t.TempDir(), proxy.Host()+"/dev/api"
	index := newIndex(t, "linux/amd64", "linux/arm64")
	if _, err := layout.Write(dir, index); err != nil {
		t.Fatal(err)
	}
	const blobs = 6 // of two images, two layers and a configuration each
	ends := faultproxy.Rule{Method: http.MethodPut, Path: regexp.MustCompile("/blobs/uploads/")}
	var finished sync.WaitGroup
	finished.Add(blobs - 1)
	ends.Times, ends.AfterUpstream, ends.Do = blobs-1, true, func(*faultproxy.Fault, http.ResponseWriter, *http.Request) bool {
		finished.Done()
		return true
	}
	proxy.Add(ends)
	// Once: were it removed, what it holds could go on before it is noticed that the process is gone.
	fault := proxy.Add(faultproxy.Rule{Method: ends.Method, Path: ends.Path, Times: 1, Do: faultproxy.Stall()})
	task, err := json.Marshal(pushTask{dir, repo})
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), pushEnv+"="+string(task))
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-fault.Reached()
	finished.Wait()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if exit, ok := errors.AsType[*exec.ExitError](cmd.Wait()); !ok || exit.Exited() {
		t.Fatalf("the process ended by itself: %v", exit)
	}
	before := len(proxy.Requests())
	r := newRegistry(t, nil)
	digest := push(t, r, repo, index, fingerprint("api"))
	sent := 0
	for _, req := range proxy.Requests()[before:] {
		if req.Method == http.MethodPatch {
			sent++
		}
	}
	if sent != 1 {
		t.Errorf("%d blobs were sent again, want the one that was not finished", sent)
	}
	if _, err := r.Verify(t.Context(), repo, digest); err != nil {
		t.Error(err)
	}
}
