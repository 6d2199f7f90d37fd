package inputs_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/inputs"
	"github.com/pharos-dev/pharos/catalogue/source"
)

const head = "apiVersion: pharos.dev/v1alpha1\nkind: Catalogue\nimages:\n"

// repository has a Go program and a Dockerfile with something of everything.
const repository = `
-- go.mod --
module shop.example

go 1.26.0
-- go.sum --
-- README.md --
-- api/main.go --
package main

import (
	_ "shop.example/libs/log"
	_ "shop.example/web"
)

func main() {}
-- api/main_test.go --
package main
-- api/extra_linux.go --
package main
-- api/default.pgo --
-- api/arm_arm64.go --
package main
-- libs/log/log.go --
package log
-- libs/log/more.go --
package log
-- libs/other/other.go --
package other
-- web/web.go --
package web

import "embed"

//go:embed static *.txt
var files embed.FS
-- web/one.txt --
-- web/static/a.html --
-- web/static/b.html --
-- web/static/css/c.css --
-- conf/app.yaml --
-- site/Dockerfile --
FROM scratch AS tools
COPY tools /tools
FROM scratch
COPY site/src site/package.json site/yarn.lock* /app/
COPY site/gone /app/
-- site/package.json --
-- site/src/a.ts --
-- site/src/lib/b.ts --
-- site/src/lib/c.ts --
-- site/README.md --
-- tools/x --
-- all/Dockerfile --
FROM scratch
COPY . /
-- .dockerignore --
docs
-- docs/x --
`

func makeTree(t testing.TB, yaml string, more ...string) source.Tree {
	t.Helper()
	files := map[string]source.File{catalogue.FileName: {Content: yaml}}
	for _, f := range txtar.Parse([]byte(strings.Join(append([]string{repository}, more...), ""))).Files {
		files[f.Name] = source.File{Content: string(f.Data)}
	}
	tree, err := source.FromFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestCheck(t *testing.T) {
	t.Parallel()
	const goAll = "api, libs/log, web, go.mod, go.sum"
	image := func(build, patterns string) string {
		return head + "- name: x\n  build: " + build + "\n  inputs: [" + patterns + "]\n"
	}
	api := func(patterns string) string { return image("{go: {package: ./api}}", patterns) }
	for name, c := range map[string]struct {
		yaml string
		more string
		want []string
	}{
		"all of a Go program": {yaml: api(goAll)},
		"tests left out":      {yaml: api(goAll + `, "!**/*_test.go"`)},
		"a package left out": {
			yaml: api("api, web, go.mod, go.sum"),
			want: []string{`libs/log (2 files) is package shop.example/libs/log, which the program needs, and is not among the inputs: add "libs/log" to them`},
		},
		"its own package left out": {
			yaml: api("libs/log, web, go.mod, go.sum, api/main_test.go"),
			want: []string{
				`api (2 files) is package shop.example/api, which the program needs, and is not among the inputs: add "api" to them`,
				`api/default.pgo is the profile that the program is optimised by, and it would be built without, and is not among the inputs: add "api/default.pgo" to them`,
				`inputs: of "api/main_test.go" (1 file) nothing is read by its package ./api, so its changes build the image again for nothing: remove it`,
			},
		},
		"files of a package left out": {
			yaml: api(goAll + `, "!**/more.go", "!**/*_linux.go"`),
			want: []string{
				`api/extra_linux.go belongs to package shop.example/api, which would be built without it, and is not among the inputs: "!**/*_linux.go" excludes it: add "api/extra_linux.go" behind that`,
				`libs/log/more.go belongs to package shop.example/libs/log, which would be built without it, and is not among the inputs: "!**/more.go" excludes it: add "libs/log/more.go" behind that`,
			},
		},
		"a file for another platform": {
			yaml: strings.Replace(api(goAll+`, "!api/arm*"`), "inputs:", "platforms: [linux/amd64, linux/arm64]\n  inputs:", 1),
			want: []string{`api/arm_arm64.go belongs to package shop.example/api, which would be built without it, and is not among the inputs: "!api/arm*" excludes it: add "api/arm_arm64.go" behind that`},
		},
		"embedded files left out": {
			yaml: api("api, libs/log, web/web.go, web/static/a.html, go.mod, go.sum"),
			want: []string{
				`web (3 files) is embedded by package shop.example/web, which would be built without it, or not at all, and is not among the inputs: add "web" to them`,
			},
		},
		"an embedded file excluded": {
			yaml: api(goAll + `, "!web/static/css"`),
			want: []string{`web/static/css/c.css is embedded by package shop.example/web, which would be built without it, or not at all, and is not among the inputs: remove "!web/static/css", which excludes it`},
		},
		"an embedded file excluded by wildcards": {
			yaml: api(goAll + `, "!**/*.css"`),
			want: []string{`web/static/css/c.css is embedded by package shop.example/web, which would be built without it, or not at all, and is not among the inputs: "!**/*.css" excludes it: add "web/static/css/c.css" behind that`},
		},
		"a package excluded": {
			yaml: api(goAll + `, "!**/*_test.go", "!libs/log"`),
			want: []string{`libs/log (2 files) is package shop.example/libs/log, which the program needs, and is not among the inputs: remove "!libs/log", which excludes it`},
		},
		"module files left out": {
			yaml: api("api, libs/log, web, go.mod"),
			want: []string{`go.sum says what belongs to the module, and is not among the inputs: add "go.sum" to them`},
		},
		"an asset left out": {
			yaml: image("{go: {package: ./api, assets: [conf]}}", goAll),
			want: []string{`conf/app.yaml is an asset of the image, and is not among the inputs: add "conf" to them`},
		},
		"what is never read": {
			yaml: api(goAll + ", libs/other, README.md, conf/*.yaml"),
			want: []string{
				`inputs: of "libs/other" (1 file) nothing is read by its package ./api, so its changes build the image again for nothing: remove it`,
				`inputs: of "README.md" (1 file) nothing is read by its package ./api, so its changes build the image again for nothing: remove it`,
				`inputs: of "conf/*.yaml" (1 file) nothing is read by its package ./api, so its changes build the image again for nothing: remove it`,
			},
		},
		"a package that does not load": {
			yaml: api(goAll + ", README.md"), more: "-- libs/log/broken.go --\npackage\n",
			want: []string{"its package does not load: libs/log/broken.go:1:9: expected 'IDENT', found 'EOF'"},
		},
		"a package that is no program": {
			yaml: image("{go: {package: ./libs/log}}", "README.md"),
			want: []string{"build.go.package: libs/log is not a main package, so it makes no program"},
		},
		"a toolchain older than the go line": {
			yaml: image("{go: {package: ./api, toolchain: go1.25.1}}", "README.md"),
			want: []string{"build.go.toolchain go1.25.1 is older than go.mod's go 1.26.0: raise it"},
		},
		"a Dockerfile": {
			yaml: image("{dockerfile: {path: site/Dockerfile}}", "site, tools"),
			want: []string{
				"site/Dockerfile:5: site/gone leads to nothing in the build context: correct it, or add what it names: the context of a build is the root of the tree",
				`inputs: of "tools" (1 file) nothing is read by site/Dockerfile, so its changes build the image again for nothing: remove it`,
			},
		},
		"sources left out": {
			yaml: image("{dockerfile: {path: site/Dockerfile, target: tools}}", "site/Dockerfile"),
			want: []string{
				`tools/x is taken by site/Dockerfile:2, which fails without it, and is not among the inputs: add "tools" to them`,
			},
		},
		"sources excluded on purpose": {
			yaml: image("{dockerfile: {path: all/Dockerfile}}", `"**", "!site/**"`),
		},
		"ignore rules left out": {
			yaml: image("{dockerfile: {path: all/Dockerfile}}", `all, docs, "!site", "!**/*.??*", "!go.*", "!.*", "!tools", "!pharos.yaml", "!README.md"`),
			want: []string{
				`.dockerignore is read by all/Dockerfile, which would be built without it, and is not among the inputs: "!.*" excludes it: add ".dockerignore" behind that`,
				`inputs: of "docs" (1 file) nothing is read by all/Dockerfile, so its changes build the image again for nothing: remove it`,
			},
		},
		"an ignore file that is none": {
			yaml: image("{dockerfile: {path: all/Dockerfile}}", `"**"`), more: "-- all/Dockerfile.dockerignore --\n[\n",
			want: []string{"all/Dockerfile.dockerignore:1: is no valid pattern: syntax error in pattern"},
		},
		"a Dockerfile for a build in its own folder": {
			yaml: image("{dockerfile: {path: web/Dockerfile}}", `"**", "!site"`), more: "-- web/Dockerfile --\nFROM scratch\nCOPY . .\n-- web/.dockerignore --\n",
			want: []string{"web/Dockerfile: it is written for a build in the folder web (web/.dockerignore lies there, which is read by builds in that folder only), and the context is the root of the tree: write `COPY web .` instead of `COPY . .` in line 2; web/.dockerignore is not read then: move its rules to web/Dockerfile.dockerignore, with paths from the root"},
		},
		"some lines for a build in its own folder": {
			yaml: image("{dockerfile: {path: web/Dockerfile}}", "web"), more: "-- web/Dockerfile --\nFROM scratch\nCOPY one.txt /\nCOPY web/static /\nCOPY gone /\n",
			want: []string{
				"web/Dockerfile: it is written for a build in the folder web (one.txt lies there, and not at the root), and the context is the root of the tree: write `COPY web/one.txt /` instead of `COPY one.txt /` in line 2",
				"web/Dockerfile:4: gone leads to nothing in the build context: correct it, or add what it names: the context of a build is the root of the tree",
			},
		},
		"wildcards for nothing": {
			yaml: image("{dockerfile: {path: f/Dockerfile}}", "f, README.md, .dockerignore"), more: "-- f/Dockerfile --\nFROM scratch\nCOPY web-*.txt /\nCOPY README.md yarn.lock* /\n",
			want: []string{"f/Dockerfile:2: web-*.txt matches nothing in the build context: the image is built without it: correct it, or remove it"},
		},
		"a fetched source": {
			yaml: image("{dockerfile: {path: f/Dockerfile}}", `f, .dockerignore`), more: "-- f/Dockerfile --\nFROM scratch\nADD https://example.com/x /x\n",
			want: []string{"f/Dockerfile:2: https://example.com/x is fetched, and no checksum says what it must be: so the image may change although the tree does not: add --checksum=sha256:…"},
		},
		"a Dockerfile that is none, or not there": {
			yaml: image("{dockerfile: {path: f/Dockerfile}}", "f") + "- name: y\n  build: {dockerfile: {path: g/Dockerfile}}\n  inputs: [f]\n",
			more: "-- f/Dockerfile --\nnonsense\n",
		},
		"arguments that nothing declares": {
			yaml: image("{dockerfile: {path: f/Dockerfile, args: {MODE: dev, mode: dev, HTTP_PROXY: x}}}", "f"),
			more: "-- f/Dockerfile --\nFROM scratch\nARG MODE\nCOPY f /\n",
			want: []string{`f/Dockerfile: no ARG declares the argument mode, so it changes the fingerprint and not the image: declare it, or remove it from the recipe`},
		},
		"a file that a build fails without": {
			yaml: image("{dockerfile: {path: f/Dockerfile}}", "f"), more: "-- f/Dockerfile --\nFROM scratch\nCOPY price/list/price.txt /\n-- price/list/price.txt --\n",
			want: []string{`price/list/price.txt is taken by f/Dockerfile:2, which fails without it, and is not among the inputs: add "price/list/price.txt" to them`},
		},
		"what wildcards name, and a build fails without": {
			yaml: image("{dockerfile: {path: f/Dockerfile}}", "f"), more: "-- f/Dockerfile --\nFROM scratch\nCOPY price/*.txt /\n-- price/a.txt --\n-- price/b.txt --\n",
			want: []string{`price/*.txt (2 files) is taken by f/Dockerfile:2, which fails without it, and is not among the inputs: add "price/*.txt" to them`},
		},
		"what is excluded, and a build fails without": {
			yaml: image("{dockerfile: {path: f/Dockerfile}}", `f, price, "!price/a.txt"`), more: "-- f/Dockerfile --\nFROM scratch\nCOPY price/a.txt price/b.txt /\n-- price/a.txt --\n-- price/b.txt --\n",
			want: []string{`price/a.txt is taken by f/Dockerfile:2, which fails without it, and is not among the inputs: remove "!price/a.txt", which excludes it`},
		},
		"a part of a folder left out": {
			yaml: image("{dockerfile: {path: f/Dockerfile}}", "f, price/list/a.txt"), more: "-- f/Dockerfile --\nFROM scratch\nCOPY price/list /\n-- price/list/a.txt --\n-- price/list/b.txt --\n",
			want: []string{`price/list/b.txt is read by f/Dockerfile, which would be built without it, and is not among the inputs: add "price/list" to them`},
		},
		"what ignore rules keep out": {
			yaml: image("{dockerfile: {path: f/Dockerfile}}", "f, price"), more: "-- f/Dockerfile --\nFROM scratch\nCOPY price/a.txt /\nCOPY price/b.txt /\n-- f/Dockerfile.dockerignore --\nprice/a.txt\n-- price/a.txt --\n-- price/b.txt --\n",
			want: []string{"f/Dockerfile:2: price/a.txt is kept out of the build context by f/Dockerfile.dockerignore: correct one of them"},
		},
		"secrets and agents": {
			yaml: image("{dockerfile: {path: f/Dockerfile, secrets: [token, spare], ssh: [work]}}", "f"),
			more: "-- f/Dockerfile --\nFROM scratch AS other\nRUN --mount=type=secret,id=spare x\nFROM scratch\nCOPY f /\nRUN --mount=type=secret,id=token --mount=type=secret,id=npm x\nRUN --mount=type=ssh x\n",
			want: []string{
				"f/Dockerfile:5: RUN mounts the secret npm, which the recipe does not declare: add it to build.dockerfile.secrets",
				"f/Dockerfile:6: RUN mounts the SSH agent default, which the recipe does not declare: add it to build.dockerfile.ssh",
				"build.dockerfile.secrets: no RUN in f/Dockerfile that the image needs mounts the secret spare, and builds must be given it all the same: remove it",
				"build.dockerfile.ssh: no RUN in f/Dockerfile that the image needs mounts the SSH agent work, and builds must be given it all the same: remove it",
			},
		},
		"secrets that another frontend may mount": {
			yaml: image("{dockerfile: {path: f/Dockerfile, secrets: [spare]}}", "f"),
			more: "-- f/Dockerfile --\n# syntax=example.com/other:1\nFROM scratch\nCOPY f /\n",
		},
		"files": {
			yaml: image("{files: {from: site/src}}", "site/src/a.ts, site/README.md"),
			want: []string{`inputs: of "site/README.md" (1 file) nothing is read by site/src, so its changes build the image again for nothing: remove it`},
		},
		"a file, of which no image is made": {
			yaml: image("{files: {from: site/package.json}}", "site/package.json"),
			want: []string{`build.files.from: site/package.json is a file, and an image is made of a folder: write from: site, with "site/package.json" as its pattern among the inputs`},
		},
		"a file, of which an artifact is made": {yaml: image("{files: {from: site/package.json, mediaType: application/json}}", "site/package.json")},
		"a root for a file": {
			yaml: image("{files: {from: site/package.json, root: /x, mediaType: application/json}}", "site/package.json"),
			want: []string{"build.files.root: /x is for a folder, and package.json goes in as it is: leave root out"},
		},
		"several files for a file's type": {
			yaml: image("{files: {from: site/src/lib, mediaType: application/wasm}}", "site/src/lib"),
			want: []string{"build.files.mediaType: application/wasm is the type of one file, and site/src/lib holds 2: name the file in build.files.from, or a type that ends with .tar+gzip"},
		},
		"deletions": {
			yaml: image("{files: {from: f}}", "f"), more: "-- f/.wh.a --\n",
			want: []string{"f/.wh.a: in an image's layer a name that begins with .wh. is a deletion: exclude it, or call it otherwise"},
		},
		"a recipe of files that is wrong itself": {
			yaml: image("{files: {from: site, root: /.wh.x, mediaType: application/vnd.oci.image.layer.v1.tar+zstd}}", "site"),
			want: []string{
				"build.files.mediaType: layers are compressed with gzip, not as application/vnd.oci.image.layer.v1.tar+zstd: leave it out",
				"build.files.root: /.wh.x: in an image's layer a name that begins with .wh. is a deletion",
			},
		},
		"files of a folder that is not there": {yaml: image("{files: {from: site/none}}", "site")},
	} {
		found, err := inputs.Check(t.Context(), makeTree(t, c.yaml, c.more), inputs.Config{Env: os.Environ(), TempDir: t.TempDir()})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var got []string
		for _, f := range found {
			got = append(got, strings.TrimPrefix(f.String(), "image x: "))
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: (-want +got)\n%s", name, d)
		}
	}
}

// What is to be added is what makes the finding go away.
func TestPatternsOfFindings(t *testing.T) {
	t.Parallel()
	patterns := []string{"api/main.go", "!**/log.go"}
	for range 10 {
		yaml := head + "- name: x\n  build: {go: {package: ./api}}\n  inputs: [\"" + strings.Join(patterns, `", "`) + "\"]\n"
		found, err := inputs.Check(t.Context(), makeTree(t, yaml), inputs.Config{Env: os.Environ(), TempDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			return
		}
		for _, f := range found {
			patterns = append(patterns, f.Pattern)
		}
	}
	t.Errorf("there are still findings with %q", patterns)
}

func TestCheckNeedsGoForGoImagesOnly(t *testing.T) {
	t.Parallel()
	yaml := head + "- name: x\n  build: {go: {package: ./api}}\n  inputs: [api]\n- name: y\n  build: {files: {from: site}}\n  inputs: [site, tools]\n"
	config := inputs.Config{Env: []string{"PATH=" + t.TempDir()}, TempDir: t.TempDir()}
	found, err := inputs.Check(t.Context(), makeTree(t, yaml), config)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 2 || found[0].Pattern != "tools" || !strings.Contains(found[1].Message, "Go images (x) cannot be compared with what their packages read: there is no go command on PATH") {
		t.Errorf("got %v", found)
	}
}

func TestCheckErrors(t *testing.T) {
	t.Parallel()
	config := inputs.Config{Env: os.Environ(), TempDir: t.TempDir()}
	tree, err := source.FromFiles(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := inputs.Check(t.Context(), tree, config); !errors.Is(err, catalogue.ErrNoCatalogue) {
		t.Errorf("without a catalogue: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	yaml := head + "- name: x\n  build: {go: {package: ./api}}\n  inputs: [api]\n"
	if _, err := inputs.Check(ctx, makeTree(t, yaml), config); !errors.Is(err, context.Canceled) {
		t.Errorf("when it is over: %v", err)
	}
}

func TestLiteral(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a/b.txt", "a*b", "[x]", "!x", `a\b`, "?"} {
		p, err := catalogue.ParsePatterns([]string{inputs.Literal(name)})
		if err != nil || !p.Match(name) || p.Match("axb") || p.Match("x") {
			t.Errorf("%q becomes %q, %v", name, inputs.Literal(name), err)
		}
	}
}
