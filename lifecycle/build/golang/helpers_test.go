package golang_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/golang"
	"github.com/pharos-dev/pharos/lifecycle/registry"
)

// greeting is the smallest module that has a package of its own, a library in
// the same module, and an embedded file.
var greeting = map[string]string{
	"go.mod":                 "module example.com/shop\n\ngo 1.24\n",
	"cmd/hello/main.go":      "package main\n\nimport (\n\t_ \"embed\"\n\n\t\"example.com/shop/lib/words\"\n)\n\n//go:embed name.txt\nvar name string\n\nfunc main() { println(words.Greet(name)) }\n",
	"cmd/hello/name.txt":     "world",
	"lib/words/words.go":     "package words\n\n// Greet greets.\nfunc Greet(name string) string { return \"hello, \" + name + suffix }\n",
	"lib/words/suffix.go":    "package words\n\nconst suffix = \"!\"\n",
	"README.md":              "nothing that a build reads\n",
	"cmd/hello/main_test.go": "package main\n",
}

func with(files map[string]string, changes map[string]string) map[string]string {
	files = maps.Clone(files)
	maps.Copy(files, changes)
	return files
}

func tree(files map[string]string) (source.Tree, error) {
	m := make(map[string]source.File, len(files))
	for name, content := range files {
		m[name] = source.File{Content: content}
	}
	return source.FromFiles(m)
}

// request asks for cmd/hello of the files for linux on this machine's
// architecture; the undeclared files are not among the inputs.
func request(host string, files map[string]string, undeclared []string) (lifecycle.BuildRequest, error) {
	full, err := tree(files)
	if err != nil {
		return lifecycle.BuildRequest{}, err
	}
	declared := maps.Clone(files)
	maps.DeleteFunc(declared, func(name, _ string) bool { return slices.Contains(undeclared, name) })
	inputs, err := tree(declared)
	if err != nil {
		return lifecycle.BuildRequest{}, err
	}
	return lifecycle.BuildRequest{
		State: catalogue.State{
			Image: catalogue.Image{
				Name:      "hello",
				Build:     catalogue.Build{Go: &catalogue.GoBuild{Package: "./cmd/hello"}},
				Platforms: []string{"linux/amd64"},
			},
			Fingerprint: catalogue.Fingerprint(fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(inputs.ID)))),
			Inputs:      inputs,
		},
		Full:       full,
		Repository: host + "/dev/hello",
	}, nil
}

func newRegistry() (*registry.Registry, error) { return registry.New(registry.Config{Insecure: true}) }

func newBuilder(temp string, env []string) (*golang.Builder, error) {
	reg, err := newRegistry()
	if err != nil {
		return nil, err
	}
	return golang.New(golang.Config{Registry: reg, Env: env, TempDir: temp})
}

// fixture is a builder, a registry in this process, and a temporary folder that
// is to be empty in the end.
type fixture struct {
	*golang.Builder
	t    *testing.T
	host string
	temp string
}

func newFixture(t *testing.T, env ...string) *fixture {
	t.Helper()
	f := &fixture{t: t, host: devtest.Registry(t), temp: t.TempDir()}
	b, err := newBuilder(f.temp, environ(env...))
	if err != nil {
		t.Fatal(err)
	}
	f.Builder = b
	return f
}

// environ is this process's environment without a way to the network.
func environ(more ...string) []string {
	return append(append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=mod -tags=machine"), more...)
}

func (f *fixture) request(files map[string]string, undeclared ...string) lifecycle.BuildRequest {
	f.t.Helper()
	r, err := request(f.host, files, undeclared)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

func (f *fixture) build(r lifecycle.BuildRequest) lifecycle.BuildResult {
	f.t.Helper()
	var out bytes.Buffer
	if r.Output == nil {
		r.Output = &out
	}
	// What builds is not refused beforehand, and asking leaves nothing.
	if err := f.Check(f.t.Context(), r); err != nil {
		f.t.Errorf("before the build: %v", err)
	}
	f.empty()
	res, err := f.Build(f.t.Context(), r)
	if err != nil {
		f.t.Fatalf("%v\n%s", err, out.String())
	}
	f.empty()
	return res
}

// fail builds what cannot be built because of its inputs.
func (f *fixture) fail(r lifecycle.BuildRequest) *lifecycle.BuildError {
	f.t.Helper()
	_, err := f.Build(f.t.Context(), r)
	var failed *lifecycle.BuildError
	if !errors.As(err, &failed) {
		f.t.Fatalf("got the error %v, want a *lifecycle.BuildError", err)
	}
	if !errors.Is(err, lifecycle.ErrSource) || failed.Image != "hello" {
		f.t.Errorf("the error %#v is no ErrSource of the image", failed)
	}
	f.empty()
	return failed
}

// empty checks that nothing is left in the temporary folder.
func (f *fixture) empty() {
	f.t.Helper()
	left, err := os.ReadDir(f.temp)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, e := range left {
		f.t.Errorf("%s is left", filepath.Join(f.temp, e.Name()))
	}
}

// closedPort is an address that nobody listens on.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}
