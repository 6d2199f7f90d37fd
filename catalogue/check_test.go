package catalogue

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// findings runs Check on a tree with that pharos.yaml, whose first two lines are
// always the same, and returns a line for each finding.
func findings(t *testing.T, yaml string, files ...file) []string {
	t.Helper()
	files = append(files, file{path: FileName, content: "apiVersion: pharos.dev/v1alpha1\nkind: Catalogue\n" + yaml})
	found, err := Check(t.Context(), makeTree(t, files...))
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{}
	for _, f := range found {
		lines = append(lines, f.String())
	}
	return lines
}

// requiring makes the module at the root require another one.
func requiring(files []file) []file {
	files[0].content += "\nrequire example.org/other v1.0.0\n"
	return files
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		yaml  string
		files []file
		want  []string // the beginning of each finding
	}{
		"nothing": {
			"images:\n- name: api\n  build: {go: {package: ./services/api}}\n  inputs: [services/api, libs, go.mod, go.sum, \"!**/*_test.go\"]\ndelivery: [pharos.yaml]\nneutral: [\"**/*.md\"]\n",
			goFiles(), nil,
		},
		"patterns that match nothing": {
			"images:\n- name: site\n  build: {files: {from: site}}\n  inputs: [site, gone, \"!site/gone\", \"!**/gone\"]\ndelivery: [gitops/**]\nneutral: [docs]\n",
			goFiles(),
			[]string{
				`image site: inputs: "gone" matches no file`, `image site: inputs: "!site/gone" matches no file`,
				`delivery: "gitops/**" matches no file`,
			},
		},
		"files of variables": {
			"images:\n- name: site\n  build: {files: {from: site}}\n  inputs: [site]\n  run: {command: [a], envFile: site/.env}\n- name: other\n  build: {files: {from: site}}\n  inputs: [site, \"!**/.env\"]\n  run: {command: [a], envFile: site/.env}\n",
			goFiles(),
			[]string{`image site: site/.env, which run.envFile names, is among the inputs, and its secrets could reach the image: add "!**/.env" to them`},
		},
		"patterns without effect": {
			"images:\n- name: site\n  build: {files: {from: site}}\n  inputs: [site/index.html, \"!libs\", site, \"**\"]\n",
			goFiles(),
			[]string{
				`image site: inputs: "site/index.html" has no effect, since "**" stands after it`,
				`image site: inputs: "!libs" has no effect, since "**" stands after it`,
				`image site: inputs: "site" has no effect, since "**" stands after it`,
			},
		},
		"an own package left out": {
			"images:\n- name: api\n  build: {go: {package: ./services/api}}\n  inputs: [libs, go.mod]\n- name: none\n  build: {go: {package: ./site}}\n  inputs: [site, go.mod, go.sum]\n",
			requiring(goFiles()),
			[]string{
				"image api: its own Go package in services/api is not among the inputs", "image api: go.sum is not among the inputs",
				"image none: the tree has no Go package in site",
			},
		},
		"an own package excluded": {
			"images:\n- name: api\n  build: {go: {package: ./services/api}}\n  inputs: [services, libs, go.mod, \"!services/api\"]\n",
			append(goFiles(), file{path: "services/web/x"}),
			[]string{`image api: its own Go package in services/api is not among the inputs: "!services/api" excludes it: remove that`},
		},
		"tests alone are no package": {
			"images:\n- name: api\n  build: {go: {package: ./services/api}}\n  inputs: [services/api/main_test.go, go.mod, go.sum]\n",
			append(goFiles(), file{path: "services/api/main_test.go"}),
			[]string{"image api: its own Go package in services/api is not among the inputs"},
		},
		"a module left out": {
			"images:\n- name: api\n  build: {go: {package: ./services/api}}\n  inputs: [services/api]\n",
			goFiles(),
			[]string{"image api: services/api is a Go package without a go.mod above it among the inputs"},
		},
		"no go.sum, and none needed": {
			"images:\n- name: api\n  build: {go: {package: ./services/api}}\n  inputs: [services/api, go.mod, go.sum, go.work.sum]\n",
			append(slices.Delete(goFiles(), 1, 2), file{path: "go.work", content: "go 1.26.0\ntoolchain go1.26.8\nuse .\n"}),
			[]string{"image api: go.work is not among the inputs"},
		},
		"no go.sum, and nothing required": {
			"images:\n- name: api\n  build: {go: {package: ./services/api}}\n  inputs: [services/api, go.mod, go.sum]\n- name: b\n  build: {go: {package: ./services/api}}\n  inputs: [services/api, go.mod]\n",
			slices.Delete(goFiles(), 1, 2), nil,
		},
		"an own folder is required only": {
			"images:\n- name: api\n  build: {go: {package: ./services/api}}\n  inputs: [services/api, go.mod, go.sum]\n",
			append(goFiles()[2:], file{path: "go.mod", content: goFiles()[0].content + "require example.org/libs v0.0.0\nreplace example.org/libs => ./libs\n"}), nil,
		},
		"go.sum left out, and not needed": {
			"images:\n- name: api\n  build: {go: {package: ./services/api}}\n  inputs: [services/api, go.mod]\n",
			goFiles(), nil,
		},
		"no go.sum, and some required": {
			"images:\n- name: api\n  build: {go: {package: ./services/api}}\n  inputs: [services/api, go.mod, go.sum]\n",
			slices.Delete(requiring(goFiles()), 1, 2),
			[]string{"image api: go.sum is not in the tree, and go.mod requires modules: run go mod tidy"},
		},
		"locked without need": {
			"images:\n- name: api\n  build: {go: {package: ./services/api, base: 'alpine:3'}}\n  inputs: [services/api, go.mod]\n- name: b\n  build: {go: {package: ./services/api, base: api}}\n  inputs: [services/api, go.mod]\n",
			append(goFiles(), locked(t, "alpine:3", digestOf("1"), "alpine", digestOf("1"), "api", digestOf("2"))),
			[]string{`pharos.lock: "alpine" is used by no image: run kubectl pharos lock`, `pharos.lock: "api" is used by no image`},
		},
		"not locked": {
			"images:\n- name: api\n  build: {go: {package: ./services/api, base: 'alpine:3'}}\n  inputs: [services/api, go.mod]\n",
			append(goFiles(), locked(t, "alpine", digestOf("1"))),
			[]string{`image api: is built on alpine:3, whose digest is in neither the recipe nor pharos.lock: run kubectl pharos lock`, `pharos.lock: "alpine" is used by no image`},
		},
		"neutral patterns": {
			"neutral: [docs/**, '**/*.md', '*.md', README.md]\n",
			goFiles(),
			[]string{`neutral: "**/*.md" has no effect, since "README.md" stands after it`, `neutral: "*.md" has no effect, since "README.md" stands after it`},
		},
		"a nearer module left out": {
			"images:\n- name: api\n  build: {go: {package: ./services/api, toolchain: go1.26.8}}\n  inputs: [services/api/*.go, go.mod, go.sum]\n",
			append(goFiles(), file{path: "services/api/go.mod", content: "module x\ngo 1.26.0\n"}),
			[]string{"image api: services/api/go.mod is not among the inputs"},
		},
		"a workspace left out": {
			"images:\n- name: api\n  build: {go: {package: ./services/api}}\n  inputs: [services/api, go.mod, go.sum]\n",
			append(goFiles(), file{path: "go.work", content: "go 1.26.0\n\nuse .\n"}, file{path: "go.work.sum"}),
			[]string{"image api: go.work is not among the inputs", "image api: go.work.sum is not among the inputs"},
		},
		"a workspace that is none": {
			"images:\n- name: api\n  build: {go: {package: ./services/api}}\n  inputs: [services/api, go.mod, go.sum]\n",
			append(goFiles(), file{path: "go.work", content: "x"}),
			[]string{"image api: go.work is not a go.work"},
		},
		"case": {
			"images:\n- name: site\n  build: {files: {from: site}}\n  inputs: [site]\n",
			append(goFiles(), file{path: "site/Index.html"}, file{path: "site/É"}, file{path: "site/é"},
				file{path: "site/dir/a"}, file{path: "site/DIR/b"}, file{path: "site/DIR/c"}, file{path: "SITE/x"}),
			[]string{
				"image site: the inputs site/DIR and site/dir differ by case only", "image site: the inputs site/Index.html and site/index.html differ by case only",
				"image site: the inputs site/É and site/é differ by case only",
			},
		},
		"a toolchain not pinned": {
			"images:\n- name: x\n  build: {go: {package: .}}\n  inputs: [go.mod, main.go]\n",
			[]file{{path: "go.mod", content: "module m\ngo 1.26.0\n"}, {path: "main.go"}},
			[]string{"image x: go.mod's go line, 1.26.0, is only the oldest Go that will do: a newer one that is installed builds the image too, under the same fingerprint; name one in build.go.toolchain or in a toolchain line"},
		},
		"a toolchain older than the go line": {
			"images:\n- name: x\n  build: {go: {package: ., toolchain: go1.26.8}}\n  inputs: [go.mod, main.go]\n- name: y\n  build: {go: {package: ., toolchain: go1.26.9}}\n  inputs: [go.mod, main.go]\n",
			[]file{{path: "go.mod", content: "module m\ngo 1.26.9\n"}, {path: "main.go"}},
			[]string{"image x: build.go.toolchain go1.26.8 is older than go.mod's go 1.26.9: raise it"},
		},
		"a toolchain older than the workspace's go line": {
			"images:\n- name: x\n  build: {go: {package: ./m, toolchain: go1.26.8}}\n  inputs: [m, go.work, go.work.sum]\n",
			[]file{{path: "m/go.mod", content: "module m\ngo 1.26.0\n"}, {path: "m/main.go"}, {path: "go.work", content: "go 1.27\nuse ./m\n"}},
			[]string{"image x: build.go.toolchain go1.26.8 is older than go.work's go 1.27: raise it"},
		},
		"a package that is no program": {
			"images:\n- name: x\n  build: {go: {package: ./lib}}\n  inputs: [gone]\n- name: y\n  build: {go: {package: ./gen}}\n  inputs: [gen, go.mod]\n",
			append(goFiles(), file{path: "lib/a.go", content: "package lib\n"}, file{path: "lib/main_test.go", content: "package main\n"},
				file{path: "gen/a.go", content: "package gen\n"}, file{path: "gen/main.go", content: "//go:build ignore\n\npackage main\n"}),
			[]string{"image x: build.go.package: lib is not a main package, so it makes no program"},
		},
		"no such Dockerfile": {
			"images:\n- name: x\n  build: {dockerfile: {path: web/Dockerfil}}\n  inputs: [gone]\n",
			[]file{{path: "web/Dockerfile", content: "FROM scratch\n"}},
			[]string{"image x: web/Dockerfil is not in the tree; did you mean web/Dockerfile? Correct build.dockerfile.path"},
		},
		"no fingerprint": {
			"images:\n- name: web\n  build: {dockerfile: {}}\n  inputs: [site]\n- name: site\n  build: {files: {from: site}}\n  inputs: [l]\n",
			[]file{{path: "Dockerfile"}, link("l/a", "gone"), link("l/b", "gone"), {path: "site/x"}},
			[]string{"image web: its own Dockerfile is not among the inputs", "image site: symbolic link l/a -> gone", "image site: symbolic link l/b -> gone"},
		},
	} {
		got := findings(t, c.yaml, c.files...)
		if len(got) != len(c.want) {
			t.Errorf("%s: %s", name, cmp.Diff(c.want, got))
			continue
		}
		for i := range got {
			if !strings.HasPrefix(got[i], c.want[i]) {
				t.Errorf("%s: %s\nwant: %s", name, got[i], c.want[i])
			}
		}
	}
}

func TestCheckWithoutACatalogue(t *testing.T) {
	t.Parallel()
	if _, err := Check(t.Context(), makeTree(t, file{path: "x"})); !errors.Is(err, ErrNoCatalogue) {
		t.Errorf("got %v", err)
	}
}
