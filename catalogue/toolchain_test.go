package catalogue

import (
	"errors"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
)

func TestGoToolchain(t *testing.T) {
	t.Parallel()
	mod := func(lines ...string) file {
		return file{path: "go.mod", content: "module m\n" + strings.Join(lines, "\n") + "\n"}
	}
	nested := file{path: "a/go.mod", content: "module a\ngo 1.25\n"}
	work := func(lines ...string) file {
		return file{path: "go.work", content: "go 1.26.1\n" + strings.Join(lines, "\n") + "\n"}
	}
	for name, c := range map[string]struct {
		build GoBuild
		files []file
		want  Toolchain
		err   string
	}{
		"recipe":      {GoBuild{Package: "./a/b", Toolchain: "go1.26.8"}, []file{mod("go 1.25")}, Toolchain{"go1.26.8", true, FileName}, ""},
		"toolchain":   {GoBuild{Package: "./a/b"}, []file{mod("go 1.25", "toolchain go1.26.7")}, Toolchain{"go1.26.7", true, "go.mod"}, ""},
		"go line":     {GoBuild{Package: "./a/b"}, []file{mod("go 1.25.1")}, Toolchain{"go1.25.1", false, "go.mod"}, ""},
		"default":     {GoBuild{Package: "."}, []file{mod("go 1.25", "toolchain default")}, Toolchain{"go1.25", false, "go.mod"}, ""},
		"nearest":     {GoBuild{Package: "./a/b"}, []file{mod("go 1.26"), nested}, Toolchain{"go1.25", false, "a/go.mod"}, ""},
		"newer lines": {GoBuild{Package: "."}, []file{mod("go 1.99", "invented (\n\tx y\n)", "toolchain go1.99.1")}, Toolchain{"go1.99.1", true, "go.mod"}, ""},
		"other":       {GoBuild{Package: "./c"}, []file{nested}, Toolchain{}, "without a go.mod"},
		"none":        {GoBuild{Package: "."}, []file{{path: "x"}}, Toolchain{}, "without a go.mod"},
		"above":       {GoBuild{Package: "../x"}, []file{{path: "x"}}, Toolchain{}, "without a go.mod"},
		"no go line":  {GoBuild{Package: "."}, []file{mod()}, Toolchain{}, "neither a toolchain nor a go line"},
		"not one":     {GoBuild{Package: "."}, []file{mod("go 1.x")}, Toolchain{}, "is not a go.mod"},
		"link":        {GoBuild{Package: "."}, []file{link("go.mod", "x")}, Toolchain{}, "symbolic link"},

		"workspace":            {GoBuild{Package: "."}, []file{mod("go 1.25", "toolchain go1.26.7"), work("toolchain go1.26.8", "use .")}, Toolchain{"go1.26.8", true, "go.work"}, ""},
		"its go line":          {GoBuild{Package: "."}, []file{mod("go 1.25", "toolchain go1.26.7"), work("use (", "./x", ".", ")")}, Toolchain{"go1.26.1", false, "go.work"}, ""},
		"of a nested module":   {GoBuild{Package: "a/b"}, []file{nested, work("use ./a")}, Toolchain{"go1.26.1", false, "go.work"}, ""},
		"of another module":    {GoBuild{Package: "a/b"}, []file{nested, work("use ./b")}, Toolchain{"go1.25", false, "a/go.mod"}, ""},
		"a nearer one":         {GoBuild{Package: "a/b"}, []file{nested, work("use ./a"), {path: "a/go.work", content: "go 1.26.2\nuse .\n"}}, Toolchain{"go1.26.2", false, "a/go.work"}, ""},
		"a nearer one, unused": {GoBuild{Package: "a/b"}, []file{nested, work("use ./a"), {path: "a/go.work", content: "go 1.26.2\n"}}, Toolchain{"go1.25", false, "a/go.mod"}, ""},
		"below the module":     {GoBuild{Package: "a/b"}, []file{nested, {path: "a/b/go.work", content: "go 1.26.2\nuse ..\n"}}, Toolchain{"go1.25", false, "a/go.mod"}, ""},
		"an absolute path":     {GoBuild{Package: "a/b"}, []file{nested, work("use /a")}, Toolchain{"go1.25", false, "a/go.mod"}, ""},
		"switched off":         {GoBuild{Package: ".", Env: map[string]string{"GOWORK": "off"}}, []file{mod("go 1.25"), work("use .")}, Toolchain{"go1.25", false, "go.mod"}, ""},
		"recipe, workspace":    {GoBuild{Package: ".", Toolchain: "go1.26.8"}, []file{mod("go 1.25"), link("go.work", "x")}, Toolchain{"go1.26.8", true, FileName}, ""},
		"workspace, no line":   {GoBuild{Package: "."}, []file{mod("go 1.25"), {path: "go.work", content: "use .\n"}}, Toolchain{}, "go.work has neither"},
		"not a workspace":      {GoBuild{Package: "."}, []file{mod("go 1.25"), work("uses .")}, Toolchain{}, "is not a go.work"},
		"workspace, link":      {GoBuild{Package: "."}, []file{mod("go 1.25"), link("go.work", "go.mod")}, Toolchain{}, "go.work is a symbolic link"},
	} {
		got, err := GoToolchain(t.Context(), c.build, makeTree(t, c.files...))
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		if _, ok := errors.AsType[*InputError](err); c.err == "" && err != nil || c.err != "" && (!ok || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A go.mod that is there and cannot be read is not one that is missing: the one
// above it says something else.
func TestGoToolchainWithoutTheObject(t *testing.T) {
	t.Parallel()
	tree := makeTree(t, file{path: "go.mod", content: "module m\ngo 1.26\n"}, file{path: "a/go.mod", content: "module a\ngo 1.25\n"})
	objects := &spy{Objects: tree.Objects}
	lost := objects.lookup(t, tree, "a/go.mod").ID
	objects.lost = func(id source.ID) bool { return id == lost }
	tree.Objects = objects
	if got, err := GoToolchain(t.Context(), GoBuild{Package: "a"}, tree); !errors.Is(err, source.ErrNotFound) {
		t.Errorf("got %v, %v", got, err)
	}
}
