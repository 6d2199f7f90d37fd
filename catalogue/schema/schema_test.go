package schema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/schema"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

func compile(t testing.TB, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("pharos.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("pharos.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// bySchema says what the schema says of a file's documents.
func bySchema(s *jsonschema.Schema, data []byte) error {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc any
		err := decoder.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if doc == nil {
			continue
		}
		if err := s.Validate(doc); err != nil {
			return err
		}
	}
}

// byParsers says what the parsers say of a file.
func byParsers(data []byte) error {
	_, catalogueErr := catalogue.Parse("p", data)
	if errors.Is(catalogueErr, catalogue.ErrNoCatalogue) {
		catalogueErr = nil
	}
	_, targetErr := standard.ParseTargets("p", data)
	return errors.Join(catalogueErr, targetErr)
}

const (
	images  = "apiVersion: pharos.dev/v1alpha1\nkind: Catalogue\nimages:\n- name: a\n  inputs: [a]\n  build: {files: {}}\n"
	program = "apiVersion: pharos.dev/v1alpha1\nkind: Catalogue\nimages:\n- name: a\n  inputs: [a]\n  build: {go: {package: .}}\n"
	target  = "apiVersion: pharos.dev/v1alpha1\nkind: Target\nmetadata: {name: a}\nspec:\n  overlay: a\n  registry: {push: localhost}\n"
)

// accepted have every field at least once.
var accepted = []string{
	images, program, target, "",
	"apiVersion: pharos.dev/v1alpha1\nkind: Catalogue\n",
	"apiVersion: pharos.dev/v1alpha1\nkind: Catalogue\ndelivery: ['!a', '**']\nneutral: []\n",
	strings.Replace(program, "package: .", "package: ./a/../b, ldflags: [-s, -X, a.b=c], tags: [x.y, 'a{{.OS}}_{{ .Arch }}'], env: {CGO_ENABLED: '0', GOEXPERIMENT: ''}, toolchain: go1.27rc1, base: b@sha256:"+strings.Repeat("0", 64)+", assets: [./a]", 1),
	strings.Replace(program, "package: .", "package: ., base: 'alpine:3', env: {GOWORK: 'off'}", 1),
	strings.Replace(program, "package: .", "package: ., base: '[::1]:5000/a'", 1),
	strings.Replace(images, "files: {}", "dockerfile: {path: a/../b, target: '0', args: {a: ''}, secrets: [a], ssh: [b]}", 1),
	strings.Replace(images, "files: {}", "files: {from: ., root: /, mediaType: a/b+c}", 1),
	images + "  platforms: [linux/arm/v7, windows/amd64/v2]\n  run: {command: [a], reload: signal, env: ['*', A_B]}\n",
	program + "  run: {go: {}, env: []}\n",
	program + "  run: {go: {args: [a, b]}, dir: a/../b, envFile: ./.env}\n",
	images + "  run: {}\n",
	images + "  run: {python: {module: a.b}, reload: self, set: {A: '', B: b}}\n",
	images + "  run: {python: {script: ./a.py, args: [-x]}, ports: [{port: 80, local: 8080, env: PORT}]}\n",
	images + "  run: {node: {script: dev, args: []}, env: ['*'], forwards: [{service: 'a:1'}, {service: 'b:2', namespace: c, local: 3, env: [D, E]}]}\n",
	images + "  run: {node: {file: a.js}, files: [/a/../b, {path: /c, env: D}, {path: /d/}]}\n",
	target + "  context: some where\n  namespace: b\n  deliver: {argocd: {namespace: x, applications: [a.b]}}\n",
	target + "  deliver: {argocd: {applications: [{name: a, path: b}, {name: c, paths: [d, e]}, f]}}\n",
	target + "  deliver: {argocd: {root: a}}\n  git: {url: 'a@b:c', push: 'file:///d'}\n",
	target + "  git: {url: 'http://a/b'}\n  buildkit: {job: {}}\n",
	target + "  git: {url: 'https://a/b', push: 'http://c/d'}\n  buildkit: {job: {image: 'a:latest'}}\n",
	target + "  git: {url: 'ssh://a/b'}\n  buildkit: {address: 'tcp://a:1'}\n",
	target + "  deliver: {apply: {}}\n  git: {url: 'http://a/b'}\n  buildkit: {job: {image: 'a@sha256:" + strings.Repeat("0", 64) + "'}}\n",
	target + "  git: {url: 'http://a/b'}\n  buildkit: {job: {image: 'a@sha256:" + strings.Repeat("0", 64) + "', cache: {claim: c, maxSize: 20GB}, " +
		"registrySecret: r, gitSecret: g, buildSecret: b, sshSecret: s, resources: {requests: {cpu: '1'}, limits: {memory: 2Gi}}, nodeSelector: {a.b/c: d}}}\n",
	target + "  buildkit: {address: 'tcp://[::1]:1'}\n",
	target + "  receipts: {keep: 10}\n",
	target + "  receipts: {}\n",
	target + "  controller: {}\n",
	target + "  controller: {sweep: [configmaps, jobs.batch, things.a-b.example.org], sweepNamespace: a, inventory: true}\n",
	target + "  buildkit: {runner: {address: 'unix:///a'}}\n",
	strings.Replace(target, "localhost", "'[::1]:5000/a__b', pull: registry.example.com, insecure: true", 1),
}

func TestAccepts(t *testing.T) {
	t.Parallel()
	s := compile(t, schema.JSON())
	example, err := os.ReadFile("../testdata/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range append([]string{string(example)}, accepted...) {
		if err := byParsers([]byte(in)); err != nil {
			t.Errorf("the parsers refuse\n%s\n%v", in, err)
		}
		if err := bySchema(s, []byte(in)); err != nil {
			t.Errorf("the schema refuses\n%s\n%v", in, err)
		}
	}
}

// The examples of the documentation are accepted, once what they shorten is there.
func TestAcceptsTheDocumentation(t *testing.T) {
	t.Parallel()
	s := compile(t, schema.JSON())
	doc, err := os.ReadFile("../../docs/pharos-yaml.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for part := range strings.SplitSeq(string(doc), "```yaml\n") {
		example, _, _ := strings.Cut(part, "```")
		if !strings.HasPrefix(example, "apiVersion: ") || !strings.Contains(example, "pharos.dev/") {
			continue
		}
		found++
		example = strings.ReplaceAll(example, "sha256:…", "sha256:"+strings.Repeat("0", 64))
		if err := byParsers([]byte(example)); err != nil {
			t.Errorf("the parsers refuse\n%s\n%v", example, err)
		}
		if err := bySchema(s, []byte(example)); err != nil {
			t.Errorf("the schema refuses\n%s\n%v", example, err)
		}
	}
	if found < 2 {
		t.Errorf("the documentation has %d whole examples", found)
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	s := compile(t, schema.JSON())
	for _, in := range []string{
		"kind: Catalogue\n",
		target + "  controller: {sweep: []}\n",
		target + "  controller: {sweep: [a, a]}\n",
		target + "  controller: {sweep: ['*']}\n",
		target + "  controller: {sweep: [Pods]}\n",
		target + "  controller: {sweepNamespace: a}\n",
		target + "  controller: {inventory: 15m}\n",
		"apiVersion: pharos.dev/v1\nkind: Catalogue\n",
		"apiVersion: pharos.dev/v1alpha1\nkind: Other\n",
		"apiVersion: pharos.dev/v1alpha1\nkind: Target\n",
		"[]\n",
		images + "  other: x\n",
		images + "other: x\n",
		strings.Replace(images, "name: a", "name: A", 1),
		strings.Replace(images, "  inputs: [a]\n", "", 1),
		strings.Replace(images, "inputs: [a]", "inputs: []", 1),
		strings.Replace(images, "inputs: [a]", "inputs: ['!a']", 1),
		strings.Replace(images, "inputs: [a]", "inputs: [/a]", 1),
		strings.Replace(images, "inputs: [a]", "inputs: [1]", 1),
		strings.Replace(images, "files: {}", "", 1),
		strings.Replace(images, "files: {}", "files: {}, dockerfile: {}", 1),
		strings.Replace(images, "files: {}", "dockerfile: {args: {a: 1}}", 1),
		strings.Replace(images, "files: {}", "dockerfile: {path: ../a}", 1),
		strings.Replace(images, "files: {}", "files: {root: a}", 1),
		strings.Replace(program, "package: .", "", 1),
		strings.Replace(program, "package: .", "package: a", 1),
		strings.Replace(program, "package: .", "package: ., base: 'a b'", 1),
		strings.Replace(program, "package: .", "package: ., ldflags: ['@a']", 1),
		strings.Replace(program, "package: .", "package: ., tags: ['{{.Date}}']", 1),
		strings.Replace(program, "package: .", "package: ., env: {GOOS: linux}", 1),
		strings.Replace(program, "package: .", "package: ., env: {CGO_ENABLED: '1'}", 1),
		strings.Replace(program, "package: .", "package: ., env: {CC: gcc}", 1),
		strings.Replace(program, "package: .", "package: ., env: {OTHER: x}", 1),
		strings.Replace(program, "package: .", "package: ., env: {GOWORK: /go.work}", 1),
		strings.Replace(program, "package: .", "package: ., toolchain: '1.26'", 1),
		images + "  platforms: []\n",
		images + "  platforms: [linux/x86_64]\n",
		images + "  platforms: [linux/amd64, linux/amd64]\n",
		images + "  run: {command: [a], python: {script: b}}\n",
		images + "  run: {reload: self}\n",
		images + "  run: {python: {}}\n",
		images + "  run: {python: {module: a, script: b}}\n",
		images + "  run: {python: {module: a/b}}\n",
		images + "  run: {node: {script: a, file: b}}\n",
		images + "  run: {set: {A.B: c}}\n",
		images + "  run: {set: {A: 1}}\n",
		images + "  run: {envFile: [a]}\n",
		images + "  run: {forwards: [{service: a}]}\n",
		images + "  run: {forwards: [{service: 'a.b:1'}]}\n",
		images + "  run: {forwards: [{service: 'a:1', local: 0}]}\n",
		images + "  run: {env: ['*'], forwards: [{service: 'a:1', env: 'A*'}]}\n",
		images + "  run: {ports: [{port: 80}]}\n",
		images + "  run: {ports: [{port: 80, local: 65536}]}\n",
		images + "  run: {files: [a]}\n",
		images + "  run: {files: [/]}\n",
		images + "  run: {files: [{env: A}]}\n",
		images + "  run: {command: []}\n",
		images + "  run: {command: [a], reload: x}\n",
		program + "  run: {go: {}, reload: self}\n",
		program + "  run: {go: {}, command: [a]}\n",
		target + "  other: x\n",
		target + "  deliver: {}\n",
		target + "  deliver: {argocd: {}}\n",
		target + "  deliver: {argocd: {root: a, applications: [b]}}\n",
		target + "  deliver: {argocd: {applications: [{name: b, path: c, paths: [d]}]}}\n",
		target + "  deliver: {argocd: {applications: [{path: c}]}}\n",
		target + "  buildkit: {address: a}\n",
		target + "  receipts: {keep: 9}\n",
		target + "  receipts: {keep: many}\n",
		target + "  receipts: {keep: 1.5}\n",
		target + "  git: {url: 'http://a/b'}\n  buildkit: {job: {image: 'a@sha256:0'}}\n",
		target + "  git: {url: 'http://a/b'}\n  buildkit: {job: {image: ''}}\n",
		target + "  buildkit: {job: {}}\n",
		target + "  git: {url: 'ssh://a/b'}\n  buildkit: {job: {}}\n",
		target + "  git: {url: 'http://a/b', push: 'git@a:b'}\n  buildkit: {job: {}}\n",
		target + "  git: {url: 'http://a/b'}\n  buildkit: {job: {image: 'a@sha256:" + strings.Repeat("0", 64) + "', cache: {claim: c, maxSize: much}}}\n",
		target + "  git: {push: 'a:b'}\n",
		strings.Replace(target, "localhost", "localhost/", 1),
		strings.Replace(target, "localhost", "http://localhost", 1),
		strings.Replace(target, "localhost", "localhost/a:b", 1),
		strings.Replace(target, "localhost", "a@localhost:1", 1),
		strings.Replace(target, "localhost", "dev", 1),
		strings.Replace(target, "{name: a}", "{name: A}", 1),
		strings.Replace(target, "overlay: a", "overlay: /a", 1),
	} {
		if byParsers([]byte(in)) == nil {
			t.Errorf("the parsers accept\n%s", in)
		}
		if bySchema(s, []byte(in)) == nil {
			t.Errorf("the schema accepts\n%s", in)
		}
	}
}

// FuzzAccepts checks that the schema refuses nothing that is accepted when it
// is read.
func FuzzAccepts(f *testing.F) {
	s := compile(f, schema.JSON())
	for _, in := range accepted {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if byParsers(data) != nil {
			return
		}
		if err := bySchema(s, data); err != nil {
			t.Errorf("the schema refuses\n%q\n%v", data, err)
		}
	})
}

const lock = "apiVersion: pharos.dev/v1alpha1\nkind: Lock\nimages: {}\n"

func lockOf(entry string) string { return strings.Replace(lock, "{}", "{"+entry+"}", 1) }

func TestLock(t *testing.T) {
	t.Parallel()
	s := compile(t, schema.LockJSON())
	digest := "'sha256:" + strings.Repeat("0", 64) + "'"
	for in, want := range map[string]bool{
		lock:                                  true,
		lockOf("a: " + digest):                true,
		lockOf("'[::1]:5000/a_b': " + digest): true,
		lockOf("'-x.y/a:B': " + digest):       true,
		"":                                    false,
		"[]\n":                                false,
		lock + "other: x\n":                   false,
		strings.Replace(lock, "images: {}", "", 1):               false,
		strings.Replace(lock, "images: {}", "images: []", 1):     false,
		strings.Replace(lock, "Lock", "Catalogue", 1):            false,
		strings.Replace(lock, "v1alpha1", "v1", 1):               false,
		lockOf("a: latest"):                                      false,
		lockOf("a: 1"):                                           false,
		lockOf("scratch: " + digest):                             false,
		lockOf("a@" + strings.Trim(digest, "'") + ": " + digest): false,
		lockOf("'a b': " + digest):                               false,
	} {
		if _, err := catalogue.ParseLock("l", []byte(in)); (err == nil) != want {
			t.Errorf("%s\nthe parser says %v", in, err)
		}
		if in == "" {
			continue // there is no document to ask the schema of
		}
		if err := bySchema(s, []byte(in)); (err == nil) != want {
			t.Errorf("%s\nthe schema says %v", in, err)
		}
	}
}

// FuzzLock checks that the schema refuses no lock that is accepted when it is
// read.
func FuzzLock(f *testing.F) {
	s := compile(f, schema.LockJSON())
	f.Add([]byte(lock))
	f.Add([]byte(lockOf("'[::1]:5000/a_b': 'sha256:" + strings.Repeat("0", 64) + "'")))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := catalogue.ParseLock("l", data); err != nil {
			return
		}
		if err := bySchema(s, data); err != nil {
			t.Errorf("the schema refuses\n%q\n%v", data, err)
		}
	})
}

func ExampleLockJSON() {
	var s struct {
		Title string `json:"title"`
	}
	if err := json.Unmarshal(schema.LockJSON(), &s); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Title)
	// Output: pharos.lock
}

func ExampleJSON() {
	var s struct {
		Title string `json:"title"`
	}
	if err := json.Unmarshal(schema.JSON(), &s); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Title)
	// Output: pharos.yaml
}
