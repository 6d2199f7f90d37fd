package golang_test

import (
	"runtime"
	"strings"
	"testing"
)

// Templates in ldflags and tags stand for what follows from the tree, and for
// nothing else.
func TestTemplates(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	files := with(greeting, map[string]string{
		"cmd/hello/main.go":    "package main\n\nvar fingerprint, tree, platform string\n\nfunc main() { println(fingerprint, tree, platform, tagged) }\n",
		"cmd/hello/tagged.go":  "//go:build on_linux && for_" + runtime.GOARCH + "\n\npackage main\n\nconst tagged = true\n",
		"cmd/hello/without.go": "//go:build !on_linux || !for_" + runtime.GOARCH + "\n\npackage main\n\nconst tagged = false\n",
	})
	r := f.request(files)
	r.State.Image.Platforms = []string{"linux/arm/v7", "linux/" + runtime.GOARCH}
	r.State.Image.Build.Go.Tags = []string{"on_{{.OS}}", "for_{{ .Arch }}"}
	r.State.Image.Build.Go.LDFlags = []string{"-X", "main.fingerprint={{.Fingerprint}}", "-X", "main.tree={{.Tree}}", "-X=main.platform={{.OS}}-{{.Arch}}"}
	res := f.build(r)
	img := platformImage(t, pulled(t, r, res), "linux/"+runtime.GOARCH)
	want := strings.Join([]string{string(r.State.Fingerprint), string(r.State.Inputs.ID), "linux-" + runtime.GOARCH, "true"}, " ")
	if got := run(t, img); got != want {
		t.Errorf("the program says %q, want %q", got, want)
	}
	if again := f.build(r); again.Digest != res.Digest {
		t.Errorf("the digest was %s and is %s", res.Digest, again.Digest)
	}

	r.State.Image.Build.Go.LDFlags = []string{"-X=main.platform={{.Date}}"}
	if failed := f.fail(r); !strings.Contains(failed.Reason, "build.go.ldflags[0]") || !strings.Contains(failed.Reason, "{{.Date}} stands for nothing") {
		t.Errorf("a date: %v", failed)
	}
}
