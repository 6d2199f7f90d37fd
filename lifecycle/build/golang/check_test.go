package golang_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle"
)

// What would fail shows before anything is compiled, all of it together, and is
// what the build says.
func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	zeros := "@sha256:" + strings.Repeat("0", 64)
	of := f.request(greeting)
	of.Repository, of.State.Image.Platforms = f.host+"/bases/arm", []string{"linux/arm64"}
	arm := of.Repository + "@" + string(f.build(of).Digest)
	type change = func(*lifecycle.BuildRequest)
	base := func(ref string) change {
		return func(r *lifecycle.BuildRequest) { r.State.Image.Build.Go.Base, r.State.Bases = ref, []string{ref} }
	}
	for name, tt := range map[string]struct {
		change change
		want   []string
	}{
		"a base of another platform":     {base(arm), []string{"its base " + arm + " cannot be used for linux/amd64: it has no image for linux/amd64, only for linux/arm64"}},
		"a base that is not there":       {base(f.host + "/bases/gone" + zeros), []string{"/bases/gone" + zeros + " is not in the registry"}},
		"a base that nothing pins":       {base(f.host + "/bases/static:latest"), []string{"is not named by digest"}},
		"a package that is not there":    {func(r *lifecycle.BuildRequest) { r.State.Image.Build.Go.Package = "./cmd/gone" }, []string{"the tree has no folder cmd/gone"}},
		"a toolchain that cannot be had": {func(r *lifecycle.BuildRequest) { r.State.Image.Build.Go.Toolchain = "go1.24.99" }, []string{"the toolchain go1.24.99, which pharos.yaml pins, is not to be had"}},
		"a package and a base": {func(r *lifecycle.BuildRequest) {
			base(arm)(r)
			r.State.Image.Build.Go.Package = "./cmd/gone"
		}, []string{"the tree has no folder cmd/gone", "cannot be used for linux/amd64"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := f.request(greeting)
			tt.change(&r)
			r.Repository = ""
			err := f.Check(t.Context(), r)
			if !errors.Is(err, lifecycle.ErrSource) {
				t.Errorf("got %v, want an ErrSource", err)
			}
			for _, want := range tt.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
			f.empty()
			r.Repository = f.host + "/dev/hello"
			f.fail(r)
		})
	}
	lost := f.request(greeting)
	base(closedPort(t) + "/base" + zeros)(&lost)
	if err := f.Check(t.Context(), lost); !errors.Is(err, lifecycle.ErrUnreachable) {
		t.Errorf("a registry that does not answer: %v", err)
	}
}

// What is built only now, or found elsewhere, is no reason to refuse.
func TestCheckAllows(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.request(greeting)
	r.State.Image.Build.Go.Base, r.State.Dependencies = "tools", []string{"tools"}
	if err := f.Check(t.Context(), r); err != nil {
		t.Errorf("a base that is to be built first: %v", err)
	}
	f.empty()

	// A module in a folder of the module is not part of it, a file for cgo is left
	// out, and a line of a string embeds nothing.
	files := with(greeting, map[string]string{
		"go.mod":             "module example.com/shop\n\ngo 1.24\n\nrequire example.com/shop/inner v1.0.0\n",
		"vendor/modules.txt": "# example.com/shop/inner v1.0.0\n## explicit; go 1.24\nexample.com/shop/inner/deep\n",
		"vendor/example.com/shop/inner/deep/deep.go": "package deep\n\nconst Word = \"vendored\"\n",
		"inner/go.mod":       "module example.com/shop/inner\n\ngo 1.24\n",
		"inner/deep/deep.go": "package deep\n\nconst Word = \"of the tree\"\n",
		"native/native.go":   "package native\n",
		"cmd/hello/README":   "",
		"cmd/hello/c.go":     "package main\n\nimport \"C\"\n\nimport _ \"example.com/shop/native\"\n",
		"cmd/hello/main.go":  "package main\n\nimport \"example.com/shop/inner/deep\"\n\nconst text = `\n//go:embed README\n`\n\nfunc main() { println(deep.Word, text) }\n",
	})
	f.build(f.request(files, "inner/go.mod", "inner/deep/deep.go", "native/native.go", "cmd/hello/README"))

	// The constraints are those of the toolchain.
	files = with(greeting, map[string]string{
		"cmd/hello/later.go": "//go:build go1.999\n\npackage main\n\nimport _ \"example.com/shop/later\"\n",
		"later/later.go":     "package later\n",
	})
	f.build(f.request(files, "later/later.go"))
	if _, err := f.Build(t.Context(), lifecycle.BuildRequest{State: catalogue.State{}}); !errors.Is(err, lifecycle.ErrSource) {
		t.Errorf("no recipe: %v", err)
	}
}
