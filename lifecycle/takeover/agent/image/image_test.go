package image_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"golang.org/x/mod/modfile"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/golang"
	"github.com/pharos-dev/pharos/lifecycle/registry"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/image"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

const (
	amd64 = "linux/amd64"
	arm64 = "linux/arm64"
)

func session(id string) wire.Session {
	return wire.Session{
		Version: wire.Version, ID: id,
		Key:     "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
		Control: wire.DefaultControl, Ports: []wire.Port{{Number: 8080}},
		Workload: "Deployment shop/api", Holder: "ann@laptop",
		Since: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC),
		Away:  wire.DefaultAway, Drain: wire.DefaultDrain, Grace: wire.Duration(30 * time.Second),
	}
}

// counted is a builder that counts.
type counted struct {
	lifecycle.Builder
	builds int
}

func (c *counted) Build(ctx context.Context, r lifecycle.BuildRequest) (lifecycle.BuildResult, error) {
	c.builds++
	return c.Builder.Build(ctx, r)
}

// fixture is a publisher to a registry behind a proxy that sees the requests.
type fixture struct {
	*image.Publisher
	registry *registry.Registry
	builder  *counted
	proxy    *faultproxy.Proxy
	push     string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	proxy, err := faultproxy.Start("http://"+devtest.Registry(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	f := &fixture{proxy: proxy, push: proxy.Host() + "/dev"}
	if f.registry, err = registry.New(registry.Config{Insecure: true}); err != nil {
		t.Fatal(err)
	}
	builder, err := golang.New(golang.Config{Registry: f.registry, Env: os.Environ(), TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	f.builder = &counted{Builder: builder}
	f.Publisher, err = image.New(image.Config{
		Builder: f.builder, Registry: f.registry, Push: f.push, Pull: "registry.example/dev", Output: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) publish(t *testing.T, s wire.Session, platforms []string, user string) lifecycle.Digest {
	t.Helper()
	ref, digest, err := f.Publish(t.Context(), s, platforms, user)
	if err != nil {
		t.Fatal(err)
	}
	if want := "registry.example/dev/pharos-agent@" + string(digest); ref != want {
		t.Errorf("reference %s, want %s", ref, want)
	}
	return digest
}

func (f *fixture) image(t *testing.T, digest lifecycle.Digest, platform string) v1.Image {
	t.Helper()
	img, err := f.registry.Image(t.Context(), f.Repository()+"@"+string(digest), platform)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// sent counts the requests that brought content to the registry.
func (f *fixture) sent() (blobs, manifests int) {
	for _, r := range f.proxy.Requests() {
		switch {
		case r.Method == "PATCH" || r.Method == "PUT" && strings.Contains(r.Path, "/blobs/"):
			blobs++
		case r.Method == "PUT" && strings.Contains(r.Path, "/manifests/"):
			manifests++
		}
	}
	return blobs, manifests
}

func TestPublish(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	digest := f.publish(t, session("s1"), []string{arm64, amd64, amd64}, "1000:1000")
	if f.builder.builds != 1 {
		t.Errorf("built %d times", f.builder.builds)
	}
	found, err := f.registry.Verify(t.Context(), f.Repository(), digest)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(found.Platforms, []string{amd64, arm64}) {
		t.Errorf("platforms %q", found.Platforms)
	}
	want, err := session("s1").Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, platform := range []string{amd64, arm64} {
		img := f.image(t, digest, platform)
		if err := validate.Image(img); err != nil {
			t.Error(err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		c := config.Config
		if !slices.Equal(c.Entrypoint, []string{wire.BinaryPath}) || !slices.Equal(c.Cmd, []string{wire.CommandRun}) || c.User != "1000:1000" {
			t.Errorf("%s: %+v", platform, c)
		}
		if got := config.OS + "/" + config.Architecture; got != platform {
			t.Errorf("%s is for %s", platform, got)
		}
		files := extract(t, img)
		if !bytes.Equal(files[wire.SessionPath], want) {
			t.Errorf("%s: session %q", platform, files[wire.SessionPath])
		}
		if size := len(files[wire.BinaryPath]); size < 1<<20 || size > 8<<20 {
			t.Errorf("%s: the program has %d bytes", platform, size)
		}
		if len(files) != 2 {
			t.Errorf("%s: %d files", platform, len(files))
		}
	}
}

func extract(t *testing.T, img v1.Image) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	content := mutate.Extract(img)
	defer content.Close()
	for r := tar.NewReader(content); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeDir {
			continue
		}
		if files["/"+h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// The program is built once, and a session brings a layer of its own and no more.
func TestNothingIsSentTwice(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.publish(t, session("s1"), []string{amd64}, "")
	blobs, _ := f.sent()
	if again := f.publish(t, session("s1"), []string{amd64}, ""); again != first {
		t.Errorf("%s became %s", first, again)
	}
	if more, _ := f.sent(); more != blobs {
		t.Errorf("%d blobs were sent again", more-blobs)
	}
	if other := f.publish(t, session("s2"), []string{amd64}, ""); other == first {
		t.Error("another session has the same image")
	}
	// Its layer and its config, each with a PATCH and a PUT.
	if more, _ := f.sent(); more-blobs > 4 {
		t.Errorf("another session brought %d requests with content", more-blobs)
	}
	if f.builder.builds != 1 {
		t.Errorf("built %d times", f.builder.builds)
	}
	if err := f.Remove(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if err := f.Remove(t.Context(), first); err != nil {
		t.Errorf("removed twice: %v", err)
	}
	if err := f.registry.Has(t.Context(), f.Repository(), first); !errors.Is(err, lifecycle.ErrImageNotFound) {
		t.Errorf("removed and there: %v", err)
	}
	if again := f.publish(t, session("s1"), []string{amd64}, ""); again != first || f.builder.builds != 1 {
		t.Errorf("%s was published as %s, after %d builds", first, again, f.builder.builds)
	}
}

var errStopped = errors.New("stopped")

// stopping ends everything with its last push.
type stopping struct {
	image.Registry
	pushes *int
	cancel context.CancelCauseFunc
}

func (s stopping) Push(ctx context.Context, repository string, index v1.ImageIndex, fp catalogue.Fingerprint) (lifecycle.Digest, error) {
	if *s.pushes--; *s.pushes == 0 {
		s.cancel(errStopped)
	}
	return s.Registry.Push(ctx, repository, index, fp)
}

// Stopped before either of its pushes, it goes on the next time, and the result is
// the same.
func TestStoppedAndRunAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for pushes := 1; pushes <= 2; pushes++ {
		ctx, cancel := context.WithCancelCause(t.Context())
		left := pushes
		stopped, err := image.New(image.Config{Builder: f.builder, Registry: stopping{f.registry, &left, cancel}, Push: f.push})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := stopped.Publish(ctx, session("s1"), []string{amd64}, ""); !errors.Is(err, errStopped) {
			t.Fatalf("stopped before push %d: %v", pushes, err)
		}
	}
	digest := f.publish(t, session("s1"), []string{amd64}, "")
	if err := validate.Image(f.image(t, digest, amd64)); err != nil {
		t.Error(err)
	}
}

func TestUser(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for user, want := range map[string]string{
		"": "", "0": "0", "1000": "1000", "1000:0": "1000:0", "root": "0", "node": "65532", "www-data:www-data": "65532:65532",
	} {
		config, err := f.image(t, f.publish(t, session("s1"), []string{amd64}, user), amd64).ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Config.User != want {
			t.Errorf("%q became %q, want %q", user, config.Config.User, want)
		}
	}
	for _, user := range []string{"a b", ":1", "1:", "-1"} {
		if _, _, err := f.Publish(t.Context(), session("s1"), []string{amd64}, user); err == nil {
			t.Errorf("%q is no user", user)
		}
	}
}

func TestPublishRefuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if _, _, err := f.Publish(t.Context(), wire.Session{}, []string{amd64}, ""); !errors.Is(err, wire.ErrSession) {
		t.Error(err)
	}
	for _, platforms := range [][]string{nil, {"linux"}, {"plan9/amd64"}} {
		if _, _, err := f.Publish(t.Context(), session("s1"), platforms, ""); err == nil {
			t.Errorf("%q", platforms)
		}
	}
	if len(f.proxy.Requests()) > 0 {
		t.Error("the registry was asked")
	}
}

// All files of the agent are among its sources.
func TestSourcesAreAll(t *testing.T) {
	t.Parallel()
	var want, got []string
	err := filepath.WalkDir("..", func(name string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel("..", name)
		if err == nil && e.IsDir() && (rel == "image" || rel == "testdata") {
			return fs.SkipDir
		}
		if strings.HasSuffix(rel, ".go") && !strings.HasSuffix(rel, "_test.go") && rel != "sources.go" {
			want = append(want, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(agent.Sources, ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			got = append(got, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("sources.go embeds %q, the folder has %q", got, want)
	}
}

// What the agent is built with is what Pharos is tested with.
func TestModuleAgreesWithPharos(t *testing.T) {
	t.Parallel()
	read := func(name string) []byte {
		content, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	parse := func(name string) *modfile.File {
		f, err := modfile.Parse(name, read(name), nil)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	const root = "../../../../"
	ours, pharos := parse("module/go.mod.txt"), parse(root+"go.mod")
	if ours.Module.Mod.Path != pharos.Module.Mod.Path {
		t.Errorf("module %s", ours.Module.Mod.Path)
	}
	versions := map[string]string{}
	for _, r := range pharos.Require {
		versions[r.Mod.Path] = r.Mod.Version
	}
	for _, r := range ours.Require {
		if versions[r.Mod.Path] != r.Mod.Version {
			t.Errorf("module/go.mod.txt requires %s, go.mod %s", r.Mod, versions[r.Mod.Path])
		}
	}
	sums := string(read(root + "go.sum"))
	for line := range strings.Lines(string(read("module/go.sum.txt"))) {
		if !strings.Contains(sums, line) {
			t.Errorf("go.sum lacks %s", line)
		}
	}
}
