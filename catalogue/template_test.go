package catalogue_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
)

func TestExpand(t *testing.T) {
	t.Parallel()
	values := catalogue.GoValues{Fingerprint: "sha256:f", Tree: "abc", Platform: catalogue.Platform{OS: "linux", Architecture: "arm", Variant: "v7"}}
	written := catalogue.GoBuild{
		LDFlags: []string{"-s", "-X", "main.id={{.Fingerprint}}/{{ .Tree }}", "-X=main.on={{.OS}}-{{.Arch}}}}"},
		Tags:    []string{"on_{{.OS}}", "plain"},
	}
	got, err := written.Expand(values)
	if err != nil {
		t.Fatal(err)
	}
	want := catalogue.GoBuild{
		LDFlags: []string{"-s", "-X", "main.id=sha256:f/abc", "-X=main.on=linux-arm}}"},
		Tags:    []string{"on_linux", "plain"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if written.LDFlags[2] != "main.id={{.Fingerprint}}/{{ .Tree }}" || written.Tags[0] != "on_{{.OS}}" {
		t.Errorf("the recipe itself has changed: %q", written)
	}
}

// What can carry a time, a commit or something of the machine is refused where it
// is written.
func TestTemplatesThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, template := range []string{
		"{{.Date}}", "{{.Timestamp}}", "{{.Git.Commit}}", "{{.Commit}}", "{{.Env.USER}}", "{{env}}", "{{now}}", "{{.}}", "{{}}", "{{.Image}}",
		"{{.Fingerprint | printf}}", "{{if .OS}}", "{{- .OS}}", "{{.Tree",
	} {
		text := "apiVersion: pharos.dev/v1alpha1\nkind: Catalogue\nimages:\n- name: api\n  build:\n    go:\n      package: .\n" +
			"      ldflags: [-X, 'main.v=" + template + "']\n      tags: ['x" + template + "']\n  inputs: ['**']\n"
		_, err := catalogue.Parse("pharos.yaml", []byte(text))
		for _, want := range []string{"pharos.yaml:8:", "images[0].build.go.ldflags[1]", "pharos.yaml:9:", "images[0].build.go.tags[0]"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", template, err, want)
			}
		}
		recipe := catalogue.GoBuild{LDFlags: []string{"-X=main.v=" + template}}
		if _, err := recipe.Expand(catalogue.GoValues{}); err == nil || !strings.HasPrefix(err.Error(), "build.go.ldflags[0] is ") {
			t.Errorf("%s: %v, want an error that names the field", template, err)
		}
	}
	// A fingerprint has a colon, which no tag can have.
	if _, err := (catalogue.GoBuild{Tags: []string{"{{.Fingerprint}}"}}).Expand(catalogue.GoValues{}); err == nil || !strings.Contains(err.Error(), "{{.Arch}}, {{.OS}}") {
		t.Errorf("a fingerprint as a tag: %v", err)
	}
}

// A template enters the fingerprint as it is written: what it stands for is the
// fingerprint itself.
func TestTemplatesInFingerprints(t *testing.T) {
	t.Parallel()
	var fingerprints []catalogue.Fingerprint
	for _, value := range []string{"one", "{{.Fingerprint}}", "{{.Tree}}"} {
		tree, err := source.FromFiles(map[string]source.File{
			"go.mod": {Content: "module m\n\ngo 1.24\n"}, "main.go": {Content: "package main\n\nfunc main() {}\n"},
			"pharos.yaml": {Content: "apiVersion: pharos.dev/v1alpha1\nkind: Catalogue\nimages:\n- name: api\n  build: {go: {package: ., ldflags: ['-X=main.v=" + value + "']}}\n  inputs: [go.mod, main.go]\n"},
		})
		if err != nil {
			t.Fatal(err)
		}
		c, err := catalogue.Load(t.Context(), tree)
		if err != nil {
			t.Fatal(err)
		}
		states, err := c.States(t.Context(), tree)
		if err != nil {
			t.Fatal(err)
		}
		fingerprints = append(fingerprints, states[0].Fingerprint)
		found := false
		for _, f := range states[0].Preimage {
			found = found || f.Key == "go.ldflags.0000" && f.Value == "-X=main.v="+value
		}
		if !found {
			t.Errorf("%s: the preimage is %v", value, states[0].Preimage)
		}
	}
	if fingerprints[0] == fingerprints[1] || fingerprints[1] == fingerprints[2] {
		t.Errorf("other templates have the same fingerprint: %v", fingerprints)
	}
}

func FuzzExpand(f *testing.F) {
	for _, text := range []string{"", "-s", "a{{.OS}}b{{ .Arch }}", "{{{.OS}}", "{{.OS}}}", "{{", "}}{{.Tree}}", "{{.OS}", "{{\t.OS}}"} {
		f.Add(text)
	}
	values := catalogue.GoValues{Fingerprint: "sha256:f", Tree: "t", Platform: catalogue.Platform{OS: "linux", Architecture: "arm64"}}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := (catalogue.GoBuild{LDFlags: []string{text}}).Expand(values)
		switch {
		case err != nil && !strings.Contains(text, "{{"):
			t.Errorf("%q: %v", text, err)
		case err != nil:
		case strings.Contains(got.LDFlags[0], "{{"):
			t.Errorf("%q became %q", text, got.LDFlags[0])
		case !strings.Contains(text, "{{") && got.LDFlags[0] != text:
			t.Errorf("%q became %q", text, got.LDFlags[0])
		}
	})
}
