package golang_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/lifecycle"
)

// workspace has two modules, of which one is the other's library.
var workspace = map[string]string{
	"go.work":                      "go 1.24\n\nuse (\n\t./services/hello\n\t./libs\n)\n",
	"services/hello/go.mod":        "module example.com/hello\n\ngo 1.24\n",
	"services/hello/cmd/main.go":   "package main\n\nimport \"example.com/libs/words\"\n\nfunc main() { println(words.Hello) }\n",
	"libs/go.mod":                  "module example.com/libs\n\ngo 1.24\n",
	"libs/words/words.go":          "package words\n\nconst Hello = \"hello from the workspace\"\n",
	"unused/go.mod":                "module example.com/unused\n\ngo 1.24\n",
	"services/other/go.mod":        "module example.com/other\n\ngo 1.24\n",
	"services/other/cmd/main.go":   "package main\n\nfunc main() { println(\"not in the workspace\") }\n",
	"services/replaced/go.mod":     "module example.com/replaced\n\ngo 1.24\n\nrequire example.com/libs v0.0.0\n\nreplace example.com/libs => ../../libs\n",
	"services/replaced/cmd/run.go": "package main\n\nimport \"example.com/libs/words\"\n\nfunc main() { println(words.Hello) }\n",
}

func TestUndeclaredInputs(t *testing.T) {
	t.Parallel()
	type missing = lifecycle.MissingInput
	vendored := with(greeting, map[string]string{
		"go.mod":                           "module example.com/shop\n\ngo 1.24\n\nrequire example.com/dep v1.0.0\n",
		"go.sum":                           "",
		"vendor/modules.txt":               "# example.com/dep v1.0.0\n## explicit; go 1.24\nexample.com/dep\n",
		"vendor/example.com/dep/dep.go":    "package dep\n\nconst Word = \"vendored\"\n",
		"cmd/hello/main.go":                "package main\n\nimport \"example.com/dep\"\n\nfunc main() { println(dep.Word) }\n",
		"lib/words/[generated].go.txt":     "",
		"unrelated/vendor/example/file.go": "package example\n",
	})
	embedding := func(line string) map[string]string {
		return with(greeting, map[string]string{
			"cmd/hello/main.go":         "package main\n\nimport \"embed\"\n\n//go:embed " + line + "\nvar files embed.FS\n\nfunc main() { println(files.Open(\".\")) }\n",
			"cmd/hello/static/a.html":   "a",
			"cmd/hello/static/b c.html": "b",
			"cmd/hello/static/d/e.css":  "e",
		})
	}
	static := []string{"cmd/hello/static/a.html", "cmd/hello/static/b c.html", "cmd/hello/static/d/e.css"}
	// Only the compiler misses a file of a package that has others.
	late := []string{"one file of a package", "a file with a name full of patterns"}
	for _, tt := range []struct {
		name       string
		files      map[string]string
		pkg        string
		undeclared []string
		want       []missing
	}{
		{"the package itself", greeting, "cmd/hello", []string{"cmd/hello/main.go", "cmd/hello/name.txt", "cmd/hello/main_test.go"},
			[]missing{{Path: "cmd/hello", Pattern: "cmd/hello"}}},
		{"a package that it imports", greeting, "cmd/hello", []string{"lib/words/words.go", "lib/words/suffix.go"},
			[]missing{{Path: "lib/words", Pattern: "lib/words"}}},
		{"a package that an undeclared package imports", with(greeting, map[string]string{
			"lib/words/words.go": "package words\n\nimport \"example.com/shop/lib/deep\"\n\nfunc Greet(name string) string { return deep.Greet(name) + suffix }\n",
			"lib/deep/deep.go":   "package deep\n\nfunc Greet(name string) string { return name }\n",
		}), "cmd/hello", []string{"lib/words/words.go", "lib/words/suffix.go", "lib/deep/deep.go"},
			[]missing{{Path: "lib/deep", Pattern: "lib/deep"}, {Path: "lib/words", Pattern: "lib/words"}}},
		{"one file of a package", greeting, "cmd/hello", []string{"lib/words/suffix.go"},
			[]missing{{Path: "lib/words/suffix.go", Pattern: "lib/words/suffix.go"}}},
		{"a file with a name full of patterns", with(greeting, map[string]string{
			"cmd/hello/main.go":   "package main\n\nfunc main() { println(name) }\n",
			"cmd/hello/a[1]*!.go": "package main\n\nconst name = 1\n",
		}), "cmd/hello", []string{"cmd/hello/a[1]*!.go"},
			[]missing{{Path: "cmd/hello/a[1]*!.go", Pattern: `cmd/hello/a\[1]\*\!.go`}}},
		{"go.mod", greeting, "cmd/hello", []string{"go.mod"}, []missing{{Path: "go.mod", Pattern: "go.mod"}}},
		{"go.sum", vendored, "cmd/hello", []string{"go.sum"}, []missing{{Path: "go.sum", Pattern: "go.sum"}}},
		{"vendored modules", vendored, "cmd/hello", []string{"vendor/modules.txt", "vendor/example.com/dep/dep.go"},
			[]missing{{Path: "vendor/modules.txt", Pattern: "vendor"}}},
		{"what an assembly file includes", assembled("#include \"textflag.h\"\n#include \"../inc/x.h\"\n"), "cmd/hello", []string{"lib/inc/x.h"},
			[]missing{{Path: "lib/inc/x.h", Pattern: "lib/inc/x.h"}}},
		{"an embedded file", greeting, "cmd/hello", []string{"cmd/hello/name.txt"},
			[]missing{{Path: "cmd/hello/name.txt", Pattern: "cmd/hello/name.txt"}}},
		{"an embedded folder", embedding("static"), "cmd/hello", static,
			[]missing{{Path: "cmd/hello/static", Pattern: "cmd/hello/static"}}},
		{"embedded files by a pattern", embedding("all:static/*.html static/d"), "cmd/hello", static, []missing{
			{Path: "cmd/hello/static/a.html", Pattern: "cmd/hello/static/*.html"},
			{Path: "cmd/hello/static/b c.html", Pattern: "cmd/hello/static/*.html"},
			{Path: "cmd/hello/static/d", Pattern: "cmd/hello/static/d"}}},
		{"an embedded file in quotes", embedding(`"static/b c.html"`), "cmd/hello", static,
			[]missing{{Path: "cmd/hello/static/b c.html", Pattern: "cmd/hello/static/b c.html"}}},
		{"go.work", workspace, "services/hello/cmd", []string{"go.work"}, []missing{{Path: "go.work", Pattern: "go.work"}}},
		{"go.work.sum", with(workspace, map[string]string{"go.work.sum": ""}), "services/hello/cmd", []string{"go.work.sum"},
			[]missing{{Path: "go.work.sum", Pattern: "go.work.sum"}}},
		{"a module of the workspace", workspace, "services/hello/cmd", []string{"libs/go.mod", "libs/words/words.go"},
			[]missing{{Path: "libs/go.mod", Pattern: "libs/go.mod"}}},
		{"a package of another module of the workspace", workspace, "services/hello/cmd", []string{"libs/words/words.go"},
			[]missing{{Path: "libs/words", Pattern: "libs/words"}}},
		{"a module that replaces another", workspace, "services/replaced/cmd", []string{"libs/go.mod", "libs/words/words.go"},
			[]missing{{Path: "libs/go.mod", Pattern: "libs"}}},
		{"several at once", workspace, "services/hello/cmd", []string{"go.work", "libs/go.mod", "services/hello/go.mod"}, []missing{
			{Path: "go.work", Pattern: "go.work"}, {Path: "libs/go.mod", Pattern: "libs/go.mod"},
			{Path: "services/hello/go.mod", Pattern: "services/hello/go.mod"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			// With everything declared, it builds: what fails is the declaration.
			whole := f.request(tt.files)
			whole.State.Image.Build.Go.Package = tt.pkg
			f.build(whole)

			r := f.request(tt.files, tt.undeclared...)
			r.State.Image.Build.Go.Package = tt.pkg
			failed := f.fail(r)
			if diff := cmp.Diff(tt.want, failed.Missing); diff != "" {
				t.Errorf("missing (-want +got):\n%s\n%v", diff, failed)
			}
			early, _ := errors.AsType[*lifecycle.BuildError](f.Check(t.Context(), r))
			if slices.Contains(late, tt.name) != (early == nil) || early != nil && !cmp.Equal(tt.want, early.Missing) {
				t.Errorf("before the build: %v", early)
			}
			f.empty()
			for _, m := range tt.want {
				if !strings.Contains(failed.Error(), m.Path) || !strings.Contains(failed.Error(), strconv.Quote(m.Pattern)) {
					t.Errorf("%q does not name %v", failed.Error(), m)
				}
			}
		})
	}
}

// assembled is greeting with a package that has an assembly file.
func assembled(source string) map[string]string {
	return with(greeting, map[string]string{
		"lib/words/x_amd64.s": source, "lib/inc/x.h": "", "lib/words/x.go": "package words\n",
	})
}

func TestInputsOutOfTheTree(t *testing.T) {
	t.Parallel()
	outside := filepath.ToSlash(filepath.Join(t.TempDir(), "x.h"))
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		changes map[string]string
		pkg     string
		want    string
	}{
		{"an absolute package", nil, "/etc", "build.go.package: /etc leads out of the tree"},
		{"a package above the root", nil, "../cmd", "build.go.package: ../cmd leads out of the tree"},
		{"a package that is nowhere", nil, "cmd/bye", "build.go.package: the tree has no folder cmd/bye"},
		{"a package that is a program of nobody", nil, "lib/words", "build.go.package: lib/words is not a main package"},
		{"an absolute replacement", map[string]string{"go.mod": "module example.com/shop\n\ngo 1.24\n\nreplace example.com/lib => /usr/src/lib\n"},
			"cmd/hello", "go.mod:5: replace example.com/lib => /usr/src/lib leads out of the tree"},
		{"a replacement above the root", map[string]string{"go.mod": "module example.com/shop\n\ngo 1.24\n\nreplace (\n\texample.com/lib => ../lib\n)\n"},
			"cmd/hello", "go.mod:6: replace example.com/lib => ../lib leads out of the tree"},
		{"a replacement that goes down and further up", map[string]string{"go.mod": "module example.com/shop\n\ngo 1.24\n\nreplace example.com/lib => ./lib/../../other\n"},
			"cmd/hello", "go.mod:5: replace example.com/lib => ./lib/../../other leads out of the tree"},
		{"a replacement on a drive", map[string]string{"go.mod": "module example.com/shop\n\ngo 1.24\n\nreplace example.com/lib => C:/lib\n"},
			"cmd/hello", "replace example.com/lib => C:/lib"},
		{"a replacement that is nowhere", map[string]string{"go.mod": "module example.com/shop\n\ngo 1.24\n\nreplace example.com/lib => ./gone\n"},
			"cmd/hello", "go.mod:5: replace example.com/lib => ./gone: the tree has no gone/go.mod"},
		{"a workspace above the root", map[string]string{"go.work": "go 1.24\n\nuse (\n\t.\n\t../other\n)\n"},
			"cmd/hello", "go.work:5: use ../other leads out of the tree"},
		{"an absolute workspace", map[string]string{"go.work": "go 1.24\n\nuse .\nuse /srv/other\n"},
			"cmd/hello", "go.work:4: use /srv/other leads out of the tree"},
		{"a workspace's module that is nowhere", map[string]string{"go.work": "go 1.24\n\nuse .\nuse ./gone\n"},
			"cmd/hello", "go.work:4: use ./gone: the tree has no gone/go.mod"},
		{"a workspace's replacement", map[string]string{"go.work": "go 1.24\n\nuse .\n\nreplace example.com/lib => ../lib\n"},
			"cmd/hello", "go.work:5: replace example.com/lib => ../lib leads out of the tree"},
		{"a go.mod that does not parse", map[string]string{"go.mod": "module example.com/shop\n\nfrobnicate 1\n"},
			"cmd/hello", "go.mod:3: unknown directive: frobnicate"},
		{"a go.mod without a module", map[string]string{"go.mod": "go 1.24\n"}, "cmd/hello", "go.mod: it has no module line"},
		{"a go.work that does not parse", map[string]string{"go.work": "use\n"}, "cmd/hello", "go.work:1: "},
		{"an absolute embed", map[string]string{"cmd/hello/main.go": "package main\n\nimport _ \"embed\"\n\n//go:embed /etc/passwd\nvar name string\n\nfunc main() { println(name) }\n"},
			"cmd/hello", "cmd/hello/main.go:5: //go:embed /etc/passwd leads out of the package's folder"},
		{"an embed above the package", map[string]string{"cmd/hello/main.go": "package main\n\nimport _ \"embed\"\n\n//go:embed ../../README.md\nvar name string\n\nfunc main() { println(name) }\n"},
			"cmd/hello", "cmd/hello/main.go:5: //go:embed ../../README.md leads out of the package's folder"},
		{"an absolute include", map[string]string{"lib/words/x_amd64.s": "#include \"" + outside + "\"\n"},
			"cmd/hello", "lib/words/x_amd64.s:1: #include \"" + outside + "\" leads out of the tree"},
		{"an include above the root", map[string]string{"lib/words/x_amd64.s": "\n#include \"x.h\"\n", "lib/words/x.h": "#include \"../../../x.h\"\n"},
			"cmd/hello", "lib/words/x.h:1: #include \"../../../x.h\" leads out of the tree"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			r := f.request(with(greeting, tt.changes))
			r.State.Image.Build.Go.Package = tt.pkg
			failed := f.fail(r)
			if !strings.Contains(failed.Reason, tt.want) {
				t.Errorf("got the reason %q, want one with %q\n%s", failed.Reason, tt.want, failed.Output)
			}
			if len(failed.Missing) > 0 {
				t.Errorf("these are said to be missing: %v", failed.Missing)
			}
		})
	}
}

// A file outside of the tree must not become an input because it lies above the
// private folder.
func TestNoModuleInTheTree(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.request(map[string]string{"cmd/hello/main.go": "package main\n\nfunc main() {}\n"})
	if failed := f.fail(r); !strings.Contains(failed.Reason, "there is no go.mod in cmd/hello, or above it") {
		t.Errorf("got the reason %q", failed.Reason)
	}
}
