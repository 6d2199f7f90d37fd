package catalogue

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// asWritten compares patterns by their text.
var asWritten = cmp.Transformer("Strings", func(p Patterns) []string { return p.Strings() })

const header = "apiVersion: pharos.dev/v1alpha1\nkind: Catalogue\n"

func compiled(t *testing.T, list ...string) Patterns {
	t.Helper()
	p, err := ParsePatterns(list)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParseExample(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse("pharos.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	want := &Catalogue{
		Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(data)),
		Images: []Image{{
			Name:      "api",
			Build:     Build{Go: &GoBuild{Package: "./services/api", Base: "scratch"}},
			Inputs:    compiled(t, "services/api", "libs", "go.mod", "go.sum", "!**/*_test.go"),
			Platforms: []string{"linux/amd64"},
			Run:       &Run{Go: &GoRun{}, Dir: "."},
		}, {
			Name:      "web",
			Build:     Build{Dockerfile: &DockerfileBuild{Path: "web/Dockerfile", Target: "prod", Args: map[string]string{"MODE": "dev"}}},
			Inputs:    compiled(t, "web"),
			Platforms: []string{"linux/amd64", "linux/arm64"},
			Run:       &Run{Command: []string{"npm", "run", "dev"}, Dir: "web", Reload: ReloadSelf, Env: []string{"API_URL"}},
		}, {
			Name:      "site",
			Build:     Build{Files: &FilesBuild{From: "site/public", Root: "/srv"}},
			Inputs:    compiled(t, "site/public/**"),
			Platforms: []string{"linux/amd64"},
		}},
		Delivery: compiled(t, "gitops/**", "pharos.yaml"),
		Neutral:  compiled(t, "**/*.md", "docs/**"),
	}
	if diff := cmp.Diff(want, got, asWritten); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for i, kind := range []string{BuildGo, BuildDockerfile, BuildFiles} {
		if k := got.Images[i].Build.Kind(); k != kind {
			t.Errorf("image %d is of kind %q, want %q", i, k, kind)
		}
	}
	if k := (Build{}).Kind(); k != "" {
		t.Errorf("a zero build is of kind %q", k)
	}
}

// TestParseNormalises checks that two ways to write the same give the same.
func TestParseNormalises(t *testing.T) {
	t.Parallel()
	base := "registry.example.com/base:1@sha256:" + strings.Repeat("a", 64)
	long := header + `images:
- name: all
  build:
    go:
      package: ./cmd/../cmd/all/
      ldflags: [-s, -w, -s]
      tags: [netgo, embed]
      env: {CGO_ENABLED: "0", GOEXPERIMENT: "", GOWORK: "off"}
      toolchain: go1.26.8
      base: ` + base + `
      assets: [b/, ./a]
  inputs: ["**"]
  platforms: [linux/arm/v7, linux/amd64]
- name: defaults
  build: {dockerfile: {}}
  inputs: ["**"]
- name: mounts
  build: {dockerfile: {path: ./a//Dockerfile, secrets: [npm, git], ssh: [default]}}
  inputs: ["**"]
  run: {command: [serve]}
- name: files
  build: {files: {}}
  inputs: ["**"]
- name: bundle
  build: {files: {from: ./x/, root: /srv/../srv/, mediaType: application/vnd.example.bundle.v1.tar+gzip}}
  inputs: ["**"]
`
	got, err := Parse("pharos.yaml", []byte(long))
	if err != nil {
		t.Fatal(err)
	}
	all, amd64 := compiled(t, "**"), []string{"linux/amd64"}
	want := []Image{
		{Name: "all", Inputs: all, Platforms: []string{"linux/amd64", "linux/arm/v7"}, Build: Build{Go: &GoBuild{
			Package: "./cmd/all", LDFlags: []string{"-s", "-w", "-s"}, Tags: []string{"embed", "netgo"},
			Env: map[string]string{"CGO_ENABLED": "0", "GOEXPERIMENT": "", "GOWORK": "off"}, Toolchain: "go1.26.8", Base: base, Assets: []string{"a", "b"},
		}}},
		{Name: "defaults", Inputs: all, Platforms: amd64, Build: Build{Dockerfile: &DockerfileBuild{Path: "Dockerfile"}}},
		{Name: "mounts", Inputs: all, Platforms: amd64,
			Build: Build{Dockerfile: &DockerfileBuild{Path: "a/Dockerfile", Secrets: []string{"git", "npm"}, SSH: []string{"default"}}},
			Run:   &Run{Command: []string{"serve"}, Dir: "a", Reload: ReloadRestart}},
		{Name: "files", Inputs: all, Platforms: amd64, Build: Build{Files: &FilesBuild{From: ".", Root: "/"}}},
		{Name: "bundle", Inputs: all, Platforms: amd64,
			Build: Build{Files: &FilesBuild{From: "x", Root: "/srv", MediaType: "application/vnd.example.bundle.v1.tar+gzip"}}},
	}
	if diff := cmp.Diff(want, got.Images, asWritten, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestParseDocuments(t *testing.T) {
	t.Parallel()
	const target = "kind: Target\nsomething: the target's own parser refuses\n"
	for _, tt := range []struct{ name, in, want string }{
		{"alone", header, ""},
		{"after a target", target + "---\n" + header, ""},
		{"two", header + "---\n" + header, "p:4:1: is a second Catalogue document, and there can be only one: put the images of both into one"},
		{"another kind", header + "---\nkind: Catalog\n", `p:4:7: kind: is "Catalog", and must be Catalogue or Target`},
		{"no kind", header + "---\nimages: []\n", "p:4:1: kind: is missing"},
		{"no mapping", header + "---\n- a\n", "p:4:1: must be a mapping, not a list"},
		{"another version", "apiVersion: pharos.dev/v1\nkind: Catalogue\n", `p:1:13: apiVersion: is "pharos.dev/v1", and must be pharos.dev/v1alpha1`},
		{"no version", "kind: Catalogue\n", "p:1:1: apiVersion: is missing"},
		{"no YAML", "kind: [Catalogue\n", "p:1: did not find expected ',' or ']'"},
		{"all at once", "kind: Catalogue\nimage: []\n---\nkind: X\n", "" +
			"p:1:1: apiVersion: is missing\n" +
			`p:2:1: image: is not known; did you mean "images"?` + "\n" +
			`p:4:7: kind: is "X", and must be Catalogue or Target`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			checkProblems(t, tt.in, tt.want)
		})
	}
}

// checkProblems checks what Parse says of a file called p.
func checkProblems(t *testing.T, in, want string) {
	t.Helper()
	c, err := Parse("p", []byte(in))
	if want == "" {
		if err != nil || c == nil {
			t.Errorf("got %v, error %v", c, err)
		}
		return
	}
	all, ok := errors.AsType[*ProblemsError](err)
	if !ok || c != nil {
		t.Fatalf("got %v and a %T (%v), want a *ProblemsError", c, err, err)
	}
	if got := all.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestParseLimitsTheImages(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(header + "images:\n")
	for i := range maxImages {
		fmt.Fprintf(&b, "- {name: i%d, build: {files: {}}, inputs: [a]}\n", i)
	}
	checkProblems(t, b.String(), "")
	checkProblems(t, b.String()+"- {name: more, build: {files: {}}, inputs: [a]}\n", "p:4100:3: images[4096]: is one image too many: there may be 4096")
}

func TestParseWithoutCatalogue(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "# nothing\n", "---\n", "kind: Target\n"} {
		_, err := Parse("p", []byte(in))
		if !errors.Is(err, ErrNoCatalogue) || !strings.Contains(err.Error(), "p: ") || !strings.Contains(err.Error(), "kind Catalogue") {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestParseDigestCoversTheFile(t *testing.T) {
	t.Parallel()
	digests := map[string]bool{}
	for _, in := range []string{header, header + "# comment\n", header + "---\nkind: Target\n"} {
		c, err := Parse("p", []byte(in))
		if err != nil {
			t.Fatal(err)
		}
		digests[c.Digest] = true
	}
	if len(digests) != 3 {
		t.Errorf("three files have %d digests", len(digests))
	}
}

func FuzzParse(f *testing.F) {
	example, err := os.ReadFile("testdata/example.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	f.Add([]byte(everyField))
	for _, tt := range refusedRuns {
		f.Add([]byte(header + "images:\n- name: a\n  build: {files: {}}\n  inputs: [a]\n  run:   " + tt.in + "\n"))
	}
	for _, tt := range refusedImages {
		f.Add([]byte(header + "images:\n" + tt.in))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("p", data)
		if (c == nil) == (err == nil) {
			t.Fatalf("got %v and error %v", c, err)
		}
		if err != nil {
			all, ok := errors.AsType[*ProblemsError](err)
			if !ok && !errors.Is(err, ErrNoCatalogue) {
				t.Fatalf("a %T: %v", err, err)
			}
			if ok {
				for _, p := range all.List {
					if p.Line > bytes.Count(data, []byte("\n"))+1 {
						t.Errorf("a problem behind the end: %+v", p)
					}
				}
			}
			return
		}
		for _, image := range c.Images {
			if image.Name == "" || image.Build.Kind() == "" || len(image.Inputs.Strings()) == 0 || len(image.Platforms) == 0 {
				t.Errorf("an incomplete image is accepted: %+v", image)
			}
			if run := image.Run; run != nil && (run.Dir == "" || (run.Kind() == "" || run.Go != nil) != (run.Reload == "")) {
				t.Errorf("an incomplete run is accepted: %+v", run)
			}
		}
	})
}
