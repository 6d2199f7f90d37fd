package buildcontext_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pharos-dev/pharos/catalogue/dockerfile"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/buildcontext"
)

// find looks at the Dockerfile of a tree, and returns the text on it.
func find(t *testing.T, archive, file string) string {
	t.Helper()
	files, names := map[string]source.File{}, []string{}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		files[f.Name] = source.File{Content: string(f.Data)}
		names = append(names, f.Name)
	}
	tree, err := source.FromFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	f, err := buildcontext.New(t.Context(), tree, names)
	if err != nil {
		t.Fatal(err)
	}
	content := []byte(files[file].Content)
	own, _, err := f.Find(t.Context(), file, content, dockerfile.Options{Platform: "linux/amd64"})
	if err != nil {
		t.Fatal(err)
	}
	if own == nil {
		return ""
	}
	return own.Text(file, content)
}

func TestFind(t *testing.T) {
	t.Parallel()
	const whole = "-- web/Dockerfile --\nFROM scratch\nCOPY . .\n"
	const is = "it is written for a build in the folder web "
	const rootIs = ", and the context is the root of the tree: write "
	for name, c := range map[string]struct{ tree, want string }{
		"all of the folder, by its ignore rules": {
			whole + "-- web/.dockerignore --\n-- web/src --\n-- go.mod --\n",
			is + "(web/.dockerignore lies there, which is read by builds in that folder only)" + rootIs + "`COPY web .` instead of `COPY . .` in line 2; web/.dockerignore is not read then: move its rules to web/Dockerfile.dockerignore, with paths from the root",
		},
		"all of the folder, by its project": {
			whole + "-- web/package.json --\n",
			is + "(package.json lies there, and not at the root)" + rootIs + "`COPY web .` instead of `COPY . .` in line 2",
		},
		"all of the folder, by a Compose file": {
			whole + "-- web/x --\n-- compose.dev.yml --\nservices: {a: {build: ./web}, b: {image: x}, c: []}\n",
			is + "(compose.dev.yml builds it so)" + rootIs + "`COPY web .` instead of `COPY . .` in line 2",
		},
		"a Dockerfile elsewhere, by a Compose file": {
			"-- ops/web.Dockerfile --\nFROM scratch\nCOPY . .\n-- web/x --\n-- ops/docker-compose.yaml --\nservices: {a: {build: {context: ../web, dockerfile: ../ops/web.Dockerfile}}}\n",
			is + "(ops/docker-compose.yaml builds it so)" + rootIs + "`COPY web .` instead of `COPY . .` in line 2",
		},
		"skaffold": {
			whole + "-- web/x --\n-- skaffold.yaml --\nbuild: {artifacts: [{image: x, context: web}]}\n",
			is + "(skaffold.yaml builds it so)" + rootIs + "`COPY web .` instead of `COPY . .` in line 2",
		},
		"every line": {
			"-- web/Dockerfile --\nFROM scratch\nCOPY package.json yarn.lock* ./\nCOPY --chown=1 ./src/ /src/\nCOPY [\"a b\", \"/\"]\nCOPY README.md public \\\n  /srv/\nCOPY web/done gone /\n" +
				"-- web/package.json --\n-- web/yarn.lock --\n-- web/src/a --\n-- web/a b --\n-- README.md --\n-- web/README.md --\n-- web/public --\n-- web/done --\n",
			is + "(package.json lies there, and not at the root)" + rootIs +
				"`COPY web/package.json web/yarn.lock* ./` instead of `COPY package.json yarn.lock* ./` in line 2, `COPY --chown=1 web/src/ /src/` instead of `COPY --chown=1 ./src/ /src/` in line 3, " +
				"web/a b instead of a b in line 4, web/README.md web/public instead of README.md public in line 5 (the root has README.md too, and that would be taken)",
		},
		"a wildcard": {
			"-- web/Dockerfile --\nFROM scratch\nCOPY web-*.txt /\n-- web/web-1.txt --\n",
			is + "(web-*.txt lies there, and not at the root)" + rootIs + "`COPY web/web-*.txt /` instead of `COPY web-*.txt /` in line 2",
		},
		"a folder above that of the Dockerfile": {
			"-- web/docker/Dockerfile --\nFROM scratch\nCOPY src /\n-- web/src --\n",
			is + "(src lies there, and not at the root)" + rootIs + "`COPY web/src /` instead of `COPY src /` in line 2",
		},
		"a mount": {
			"-- web/Dockerfile --\nFROM scratch\nRUN --mount=source=src,target=/x true\n-- web/src --\n",
			is + "(src lies there, and not at the root)" + rootIs + "web/src instead of src in line 2",
		},
		"the root, by a path":           {"-- web/Dockerfile --\nFROM scratch\nCOPY web/package.json .\nCOPY . .\n-- web/package.json --\n", ""},
		"the root, by a command":        {"-- web/Dockerfile --\nFROM scratch\nCOPY . .\nRUN cd ./web && npm ci\n-- web/package.json --\n", ""},
		"the root, by a Compose file":   {whole + "-- web/.dockerignore --\n-- compose.yaml --\nservices: {a: {build: {context: ., dockerfile: web/Dockerfile}}}\n", ""},
		"the root, by its ignore rules": {whole + "-- web/Dockerfile.dockerignore --\n-- x --\n", ""},
		"the root, whose project it is": {whole + "-- web/package.json --\n-- package.json --\n", ""},
		"its own only":                  {"-- web/Dockerfile --\nFROM scratch\n-- web/package.json --\n", ""},
		"at the root":                   {"-- Dockerfile --\nFROM scratch\nCOPY . .\n", ""},
		"tools that say nothing":        {whole + "-- compose.yaml --\n\t\n-- docker-compose.x.yml --\nservices: {a: {build: {context: 'https://x/y'}}, b: {build: [1]}, c: {build: $WEB}}\n-- skaffold.yml --\nbuild: 1\n", ""},
	} {
		file := "web/Dockerfile"
		for _, other := range []string{"ops/web.Dockerfile", "web/docker/Dockerfile"} {
			if strings.Contains(c.tree, "-- "+other+" --") {
				file = other
			}
		}
		if d := cmp.Diff(c.want, find(t, c.tree, file)); d != "" {
			t.Errorf("%s: (-want +got)\n%s", name, d)
		}
	}
}

func FuzzTools(f *testing.F) {
	for _, s := range []string{"services: {a: {build: web}}", "services: {a: {build: {context: ../.., dockerfile: /x}}}", "build: {artifacts: [{context: web}]}", "a: &a [*a]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		content := []byte("FROM scratch\nCOPY . .\n")
		tree, err := source.FromFiles(map[string]source.File{"compose.yaml": {Content: s}, "skaffold.yaml": {Content: s}, "web/Dockerfile": {Content: string(content)}})
		if err != nil {
			t.Fatal(err)
		}
		finder, err := buildcontext.New(t.Context(), tree, []string{"compose.yaml", "skaffold.yaml", "web/Dockerfile"})
		if err != nil {
			t.Fatal(err)
		}
		own, _, err := finder.Find(t.Context(), "web/Dockerfile", content, dockerfile.Options{})
		if err != nil || own != nil && own.Dir != "web" {
			t.Errorf("%+v, %v", own, err)
		}
	})
}
