package dockerfile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/catalogue/dockerfile"
)

// Ids are those that BuildKit looks for, of the stages that the target needs.
func TestMounts(t *testing.T) {
	t.Parallel()
	f, err := dockerfile.Parse("Dockerfile", []byte(`FROM scratch AS Other
RUN --mount=type=secret,id=unused x
FROM scratch AS build
ARG NAME=npm
RUN --mount=type=secret,id=a --mount=type=secret,source=b,target=/x --mount=type=secret,target=/run/c x
RUN --mount=type=secret,id=$NAME,required --mount=type=ssh --mount=type=ssh,id=work --mount=type=cache,target=/y,id=z x
FROM build
`))
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.Plan(dockerfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]dockerfile.Mount{{5, "a"}, {5, "b"}, {5, "c"}, {6, "npm"}}, p.Secrets); d != "" {
		t.Errorf("secrets (-want +got)\n%s", d)
	}
	if d := cmp.Diff([]dockerfile.Mount{{6, "default"}, {6, "work"}}, p.SSH); d != "" {
		t.Errorf("SSH (-want +got)\n%s", d)
	}
	if d := cmp.Diff([]string{"other", "build"}, f.Stages()); d != "" {
		t.Errorf("stages (-want +got)\n%s", d)
	}
}

// Where an id is not known, or another frontend reads the file, there may be more.
func TestAllMounts(t *testing.T) {
	t.Parallel()
	const run = "FROM scratch\nARG BUILDARCH\nRUN --mount=type="
	for content, want := range map[string]bool{
		run + "secret,id=a x\n": true,
		"# syntax=docker/dockerfile:1\n" + run + "secret,id=a x\n":            true,
		"# syntax=example.com/frontend:1\n" + run + "secret,id=a x\n":         false,
		run + "secret,id=a --mount=type=secret,target=/x,id=$BUILDARCH x\n":   false,
		run + "ssh,id=$BUILDARCH x\n":                                         false,
		run + "secret,id=a --mount=type=bind,source=$BUILDARCH,target=/x x\n": true,
	} {
		f, err := dockerfile.Parse("Dockerfile", []byte(content))
		if err != nil {
			t.Fatal(err)
		}
		p, err := f.Plan(dockerfile.Options{Platform: "linux/amd64"})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.AllMounts(); got != want {
			t.Errorf("%s: %v", content, got)
		}
	}
}
