package dockerfile_test

import (
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lifecycle"
)

// BuildKit would take an image of another platform, and call the result one of the
// platform that was asked for.
func TestBasesOfOtherPlatforms(t *testing.T) {
	t.Parallel()
	f := &fixture{t: t, host: devtest.Registry(t)}
	f.use(refusing{t})
	base := f.host + "/base:1"
	locked := map[string]string{base: f.busybox(base)} // for linux/amd64 alone
	const both = "[linux/amd64, linux/arm64]"
	for name, c := range map[string]struct {
		dockerfile, platforms string
		line                  string // that is refused; "" if none is
	}{
		"the image":                  {"FROM BASE\n", both, "Dockerfile:1"},
		"one platform":               {"FROM BASE\n", "[linux/arm64]", "Dockerfile:1"},
		"a stage that is copied":     {"FROM BASE AS build\nFROM scratch\nCOPY --from=build / /\n", both, "Dockerfile:1"},
		"a platform by name":         {"FROM --platform=linux/arm64 BASE\n", "[linux/amd64]", "Dockerfile:1"},
		"a stage that is not needed": {"FROM BASE AS other\nFROM scratch\nCOPY Dockerfile /\n", both, ""},
		"a stage of the builder":     {"FROM --platform=$BUILDPLATFORM BASE AS build\nFROM scratch\nCOPY --from=build / /\n", both, ""},
		"the right one":              {"FROM BASE\n", "[linux/amd64]", ""},
		"files alone":                {"FROM scratch\nCOPY --from=BASE /bin /bin\n", both, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := project{platforms: c.platforms, lock: locked, files: map[string]string{"Dockerfile": strings.ReplaceAll(c.dockerfile, "BASE", base)}}
			r := f.request(p)
			err := f.Check(t.Context(), r)
			if c.line == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			for _, said := range []string{errorOf(err), f.fail(r).Error()} {
				if !strings.Contains(said, c.line+": FROM "+base) || !strings.Contains(said, "linux/amd64") {
					t.Errorf("got %s", said)
				}
			}
		})
	}
}

// A registry that cannot be asked from here is BuildKit's to ask.
func TestBaseThatOnlyBuildKitReaches(t *testing.T) {
	t.Parallel()
	f := &fixture{t: t, host: "127.0.0.1:1"}
	f.use(refusing{t})
	base := f.host + "/base:1"
	p := project{files: map[string]string{"Dockerfile": "FROM " + base + "\n"}, lock: map[string]string{base: "sha256:" + strings.Repeat("0", 64)}}
	if err := f.Check(t.Context(), f.request(p)); err != nil {
		t.Error(err)
	}
}

// Before anything is built, what an image is built on may not be there.
func TestCheck(t *testing.T) {
	t.Parallel()
	f := &fixture{t: t, host: "registry.invalid", address: "unix:///nowhere/buildkitd.sock"}
	f.connect()
	more := "- name: base\n  build: {dockerfile: {path: base/Dockerfile}}\n  inputs: [base]\n"
	p := project{more: more, files: map[string]string{"Dockerfile": "FROM base\nCOPY a /\n", "a": "a", "base/Dockerfile": "FROM scratch\n"}}
	if err := f.Check(t.Context(), f.request(p)); err != nil {
		t.Error(err)
	}
	p.recipe, p.inputs = "{secrets: [npm], ssh: [work]}", "[Dockerfile]"
	p = p.with(map[string]string{"Dockerfile": "FROM base\nCOPY a /\nRUN --mount=type=secret,id=token true\n"})
	r := f.request(p)
	r.Repository = ""
	err := f.Check(t.Context(), r)
	for _, want := range []string{"a is not declared", "RUN mounts the secret token", "--secret id=npm,src=FILE (or env=NAME), --ssh work=SOCKET"} {
		if !strings.Contains(errorOf(err), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
	var _ lifecycle.Checker = f.Builder
}

func errorOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
