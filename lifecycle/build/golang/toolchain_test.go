package golang_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/golang"
)

func TestPinnedToolchain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	local := runtime.Version()
	for _, tt := range []struct {
		name, recipe, gomod, gowork string
		want, wantErr               string
	}{
		{name: "none", gomod: "go 1.24\n", want: local},
		{name: "the one that is here, by the recipe", recipe: local, gomod: "go 1.24\n", want: local},
		{name: "the one that is here, by go.mod", gomod: "go 1.24\n\ntoolchain " + local + "\n", want: local},
		{name: "the one that is here, by go.work", gomod: "go 1.24\n", gowork: "go 1.24\n\ntoolchain " + local + "\n\nuse .\n", want: local},
		{name: "the recipe's before go.mod's", recipe: local, gomod: "go 1.24\n\ntoolchain go1.24.99\n", want: local},
		{name: "go.work's instead of go.mod's", gomod: "go 1.24\n\ntoolchain go1.24.99\n", gowork: "go 1.24\n\nuse .\n", want: local},
		{name: "go.mod's if go.work does not use it", gomod: "go 1.24\n\ntoolchain " + local + "\n", gowork: "go 1.24\n\ntoolchain go1.24.99\n", want: local},
		{name: "one of go.work that cannot be had", gomod: "go 1.24\n\ntoolchain " + local + "\n", gowork: "go 1.24\n\ntoolchain go1.24.99\n\nuse .\n",
			wantErr: "the toolchain go1.24.99, which go.work pins, is not to be had"},
		{name: "neither a toolchain nor a go line", gomod: "\n", wantErr: "go.mod has neither a toolchain nor a go line"},
		{name: "one that cannot be had", gomod: "go 1.24\n\ntoolchain go1.24.99\n",
			wantErr: "the toolchain go1.24.99, which go.mod pins, is not to be had"},
		{name: "a Go that is too old", gomod: "go 1.99\n",
			wantErr: "go.mod asks for Go 1.99, and the Go of this machine is " + local},
		{name: "a pinned one that is too old", recipe: local, gomod: "go 1.99\n",
			wantErr: "go.mod asks for Go 1.99, and the toolchain that pharos.yaml pins is " + local},
		{name: "a Go that is too old for the workspace", gomod: "go 1.24\n", gowork: "go 1.99\n\nuse .\n",
			wantErr: "go.work asks for Go 1.99"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := with(greeting, map[string]string{"go.mod": "module example.com/shop\n\n" + tt.gomod})
			if tt.gowork != "" {
				files["go.work"] = tt.gowork
			}
			r := f.request(files)
			r.State.Image.Build.Go.Toolchain = tt.recipe
			if tt.wantErr != "" {
				if failed := f.fail(r); !strings.Contains(failed.Reason, tt.wantErr) {
					t.Errorf("got the reason %q, want one with %q", failed.Reason, tt.wantErr)
				}
				return
			}
			if got := f.build(r).Toolchain; got != tt.want {
				t.Errorf("got the toolchain %s, want %s", got, tt.want)
			}
		})
	}
}

func TestModulesThatCannotBeReached(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "GOPROXY=https://user:hunter2@"+closedPort(t), "GONOSUMDB=*", "GOFLAGS=", "GOMODCACHE="+t.TempDir())
	r := f.request(with(greeting, map[string]string{
		"go.mod":            "module example.com/shop\n\ngo 1.24\n\nrequire example.com/dep v1.0.0\n",
		"go.sum":            "example.com/dep v1.0.0 h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\nexample.com/dep v1.0.0/go.mod h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
		"cmd/hello/main.go": "package main\n\nimport _ \"example.com/dep\"\n\nfunc main() {}\n",
	}))
	_, err := f.Build(t.Context(), r)
	if !errors.Is(err, lifecycle.ErrUnreachable) || errors.Is(err, lifecycle.ErrSource) {
		t.Errorf("got %v, want an ErrUnreachable", err)
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error shows a password: %v", err)
	}
	f.empty()
}

func TestWorkspace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for pkg, want := range map[string]string{
		"services/hello/cmd":    "hello from the workspace",
		"services/replaced/cmd": "hello from the workspace",
		// go.work does not use it, so it is none of its business.
		"services/other/cmd": "not in the workspace",
	} {
		r := f.request(workspace, "unused/go.mod")
		r.State.Image.Build.Go.Package = pkg
		r.State.Image.Platforms = []string{"linux/" + runtime.GOARCH}
		img := platformImage(t, pulled(t, r, f.build(r)), "linux/"+runtime.GOARCH)
		if got := run(t, img); got != want {
			t.Errorf("%s says %q, want %q", pkg, got, want)
		}
	}
	r := f.request(workspace, "go.work")
	r.State.Image.Build.Go.Package = "services/replaced/cmd"
	r.State.Image.Build.Go.Env = map[string]string{"GOWORK": "off"}
	f.build(r)
}

func TestAssets(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.request(with(greeting, map[string]string{"static/css/a.css": "a", "static/index.html": "<html>", "config.json": "{}"}))
	r.State.Image.Build.Go.Assets = []string{"config.json", "static"}
	img := platformImage(t, pulled(t, r, f.build(r)), "linux/amd64")
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.WorkingDir != "/app" {
		t.Errorf("the working directory is %q", config.Config.WorkingDir)
	}
	want := []string{"app/ 555", "app/config.json 444", "app/hello 555", "app/static/ 555", "app/static/css/ 555", "app/static/css/a.css 444", "app/static/index.html 444"}
	if diff := cmp.Diff(want, list(t, img)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}

	r = f.request(with(greeting, map[string]string{"static/index.html": "<html>"}), "static/index.html")
	r.State.Image.Build.Go.Assets = []string{"static", "gone", "../etc", "hello/x"}
	failed := f.fail(r)
	if diff := cmp.Diff([]lifecycle.MissingInput{{Path: "static", Pattern: "static"}}, failed.Missing); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	for _, part := range []string{"the tree has no gone", "../etc leads out of the tree", "hello/x would stand where the program does"} {
		if !strings.Contains(failed.Reason, part) {
			t.Errorf("the reason %q lacks %q", failed.Reason, part)
		}
	}
}

func TestRecipesThatAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, tt := range []struct {
		name   string
		change func(*catalogue.Image)
		want   []string
	}{
		{"no platform", func(i *catalogue.Image) { i.Platforms = nil }, []string{"it names no platform"}},
		{"platforms", func(i *catalogue.Image) { i.Platforms = []string{"linux", "windows/amd64", "linux/amd64/v9"} },
			[]string{`"linux"`, `"windows/amd64"`, `"linux/amd64/v9"`}},
		{"variables", func(i *catalogue.Image) {
			i.Build.Go.Env = map[string]string{"GOFLAGS": "-race", "GOOS": "plan9", "GOCACHE": "/tmp", "GOWORK": "/go.work"}
		}, []string{"build.go.env.GOFLAGS", "build.go.env.GOOS", "build.go.env.GOCACHE", "build.go.env.GOWORK"}},
		{"cgo", func(i *catalogue.Image) {
			i.Build.Go.Env = map[string]string{"CGO_ENABLED": "1", "CC": "gcc", "CGO_CFLAGS": "-O1", "GO_EXTLINK_ENABLED": "1"}
		}, []string{"build.go.env.CGO_ENABLED", "build.go.env.CC ", "build.go.env.CGO_CFLAGS", "build.go.env.GO_EXTLINK_ENABLED", "from a Dockerfile whose base is locked"}},
		{"cgo where there is a compiler", func(i *catalogue.Image) { i.Build.Go.Env = map[string]string{"CGO_ENABLED": ""} },
			[]string{"build.go.env.CGO_ENABLED"}},
		{"a file for the linker to write", func(i *catalogue.Image) { i.Build.Go.LDFlags = []string{"-s", "-cpuprofile=/tmp/x"} },
			[]string{`build.go.ldflags: item 1 is "-cpuprofile=/tmp/x"`}},
		{"both kinds of quotes", func(i *catalogue.Image) { i.Build.Go.LDFlags = []string{`-X=main.a='"`} }, []string{"build.go.ldflags"}},
		{"a base by tag", func(i *catalogue.Image) { i.Build.Go.Base = "alpine:3" }, []string{"build.go.base: alpine:3"}},
		{"no recipe for Go", func(i *catalogue.Image) { i.Build = catalogue.Build{Files: &catalogue.FilesBuild{}} }, []string{"not one for Go"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := f.request(greeting)
			tt.change(&r.State.Image)
			failed := f.fail(r)
			for _, want := range tt.want {
				if !strings.Contains(failed.Reason, want) {
					t.Errorf("the reason %q lacks %q", failed.Reason, want)
				}
			}
		})
	}
}

func TestInputsThatCannotBeExported(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, tt := range map[string]struct {
		file source.File
		want error
	}{
		"a link out of the tree": {source.File{Mode: source.ModeSymlink, Content: "../../etc/passwd"}, source.ErrSymlink},
		"an LFS pointer":         {source.File{Content: "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"}, source.ErrLFS},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]source.File{"lib/data": tt.file}
			for name, content := range greeting {
				files[name] = source.File{Content: content}
			}
			inputs, err := source.FromFiles(files)
			if err != nil {
				t.Fatal(err)
			}
			r := f.request(greeting)
			r.State.Inputs = inputs
			if failed := f.fail(r); !errors.Is(failed, tt.want) || !strings.Contains(failed.Reason, "lib/data") {
				t.Errorf("got %v, want %v of lib/data", failed, tt.want)
			}
		})
	}
}

// TestWithoutAGoCommand wants it to be missed by a build, and by nothing else.
func TestWithoutAGoCommand(t *testing.T) {
	t.Parallel()
	reg, err := newRegistry()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := golang.New(golang.Config{Env: os.Environ()}); err == nil {
		t.Error("a builder without a registry")
	}
	// A relative folder on PATH is nobody's word for what runs.
	relative := t.TempDir()
	if err := os.WriteFile(filepath.Join(relative, "go"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	work, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if relative, err = filepath.Rel(work, relative); err != nil {
		t.Fatal(err)
	}
	f := newFixture(t)
	for what, path := range map[string]string{"an empty folder": t.TempDir(), "a relative folder": relative} {
		b, err := golang.New(golang.Config{Registry: reg, Env: []string{"PATH=" + path}, TempDir: f.temp})
		if err != nil {
			t.Fatalf("with %s on PATH: %v", what, err)
		}
		_, err = b.Build(t.Context(), f.request(greeting))
		if err == nil || errors.Is(err, lifecycle.ErrSource) || !strings.Contains(err.Error(), "install Go") {
			t.Errorf("with %s on PATH: %v, want an error that is none of the source and says what to install", what, err)
		}
	}
	f.empty()
}
