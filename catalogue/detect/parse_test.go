package detect

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

func TestParseKustomization(t *testing.T) {
	t.Parallel()
	const all = `
kind: Kustomization
resources: [a.yaml, base]
bases: [b]
components: [c]
crds: [d]
configurations: [e]
generators: [f]
transformers: [g]
patchesStrategicMerge: [h]
patches: [{path: i}, {patch: inline}]
patchesJson6902: [{path: j}]
replacements: [{path: k}]
openapi: {path: l}
configMapGenerator: [{files: [m, key=n], envs: [o], env: p}]
secretGenerator: [{files: [q]}]
images: [{name: x, newName: y}]
`
	k, ok := parseKustomization([]byte(all))
	if !ok {
		t.Fatal("it is not YAML")
	}
	got := slices.DeleteFunc(k.entries(), func(s string) bool { return s == "" })
	slices.Sort(got)
	want := []string{"a.yaml", "b", "base", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if k, ok := parseKustomization([]byte("resources: {no: list}\nimages: [{name: x}]\n")); !ok || len(k.Images) != 1 {
		t.Errorf("with a field of another type: %v, %v", k, ok)
	}
	if _, ok := parseKustomization([]byte("\t{")); ok {
		t.Error("what is no YAML is taken for some")
	}
}

func TestContainerImages(t *testing.T) {
	t.Parallel()
	const manifest = `
kind: Deployment
spec: {template: {spec: {initContainers: [{image: a}], containers: [{image: "b:1"}, {name: none}]}}}
---
kind: List
items:
- spec: {jobTemplate: {spec: {template: {spec: {containers: [{image: c@sha256:0}]}}}}}
---
kind: Other
image: no
containers: {image: no}
`
	if d := cmp.Diff([]string{"a", "b:1", "c@sha256:0"}, containerImages([]byte(manifest))); d != "" {
		t.Error(d)
	}
	for ref, want := range map[string]string{
		"api": "api", "api:1": "api", "localhost:5000/api": "localhost:5000/api", "r.example:5/a/b:1@sha256:00": "r.example:5/a/b",
	} {
		if got := nameOf(ref); got != want {
			t.Errorf("the name of %s is %s, want %s", ref, got, want)
		}
	}
}

func FuzzKustomization(f *testing.F) {
	for _, s := range []string{"resources: [a]\nimages: [{name: x, newName: y}]\n", "a: &a [*a]\n", "spec: {containers: [{image: a}]}\n---\n", "\x00", "{{ template }}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		k, _ := parseKustomization(data)
		for _, entry := range k.entries() {
			if name, ok := join("a/b", entry); ok && (name == ".." || strings.HasPrefix(name, "../") || strings.HasPrefix(name, "/")) {
				t.Errorf("%q leads to %q", entry, name)
			}
		}
		for _, ref := range containerImages(data) {
			nameOf(ref)
		}
	})
}

func FuzzPackageJSON(f *testing.F) {
	for _, s := range []string{`{"name": "@a/b", "scripts": {"dev": "x", "start": 1}}`, `{"scripts": []}`, `[`, ``, `{"name": 7}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p := parsePackageJSON(data)
		if name := sanitize(p.Name); name != "" && !valid.MatchString(name) {
			t.Errorf("%q becomes %q, which is no name", p.Name, name)
		}
	})
}

// FuzzScalar holds what is written against what a parser reads.
func FuzzScalar(f *testing.F) {
	for _, s := range []string{"a", "1.10", "true", "*", "!x", "a: b", "a #b", "--prefix", "-", ".", "~", "é\u2028", "\x01\"\\", "0x10", "=", "y", "2001-01-01", "a:", "[x", "---", "<<", "._", "__"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ToValidUTF8(s, "") != s {
			return
		}
		for _, layout := range []string{"k: %", "- %", "k: [%, x]"} {
			var n yaml.Node
			if err := yaml.Unmarshal([]byte(strings.Replace(layout, "%", scalar(s), 1)), &n); err != nil {
				t.Fatalf("%q is written as %s: %v", s, scalar(s), err)
			}
			for ; len(n.Content) > 0; n = *n.Content[min(1, len(n.Content)-1)] {
				if n.Kind == yaml.SequenceNode {
					n = *n.Content[0]
					break
				}
			}
			if n.Value != s || n.Tag != "!!str" {
				t.Errorf("%q is written as %s and read as %q, %s", s, scalar(s), n.Value, n.Tag)
			}
		}
	})
}

func TestRelease(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"go1.26.8": "go1.26.8", "go1.27rc1": "go1.27rc1", "devel go1.28-abcdef": "", "": ""} {
		if got := release(version); got != want {
			t.Errorf("%q becomes %q, want %q", version, got, want)
		}
	}
}
