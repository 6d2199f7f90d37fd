package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/gocommand"
	"github.com/pharos-dev/pharos/internal/scratch"
)

// builder builds a Go program of the working tree, in the user's own build cache and
// into a private folder.
type builder struct {
	root   string
	recipe catalogue.GoBuild
	dir    string // of the package
	folder *scratch.Folder
	goes   *gocommand.Command
	count  int
}

// built is what became of a build.
type built struct {
	program  string
	problems []Problem
	output   string
	err      error // what it says if it is none of the program's sources
	took     time.Duration
}

func newBuilder(ctx context.Context, c Config) (*builder, error) {
	host := catalogue.Platform{OS: goruntime.GOOS, Architecture: goruntime.GOARCH}
	recipe, err := c.Go.Expand(catalogue.GoValues{Platform: host})
	if err != nil {
		return nil, err
	}
	folder, err := scratch.Place{Dir: c.Temp, Prefix: "pharos-run-"}.Make("tmp", "ask")
	if err != nil {
		return nil, err
	}
	goes, err := gocommand.New(ctx, c.Environ, folder.Path("ask"))
	if err != nil {
		return nil, errors.Join(err, folder.Remove())
	}
	return &builder{root: c.Root, recipe: recipe, dir: filepath.Join(c.Root, filepath.FromSlash(recipe.Package)), folder: folder, goes: goes}, nil
}

// build builds the program from what the working tree holds.
func (b *builder) build(ctx context.Context) built {
	begun := time.Now()
	b.count++
	folder := b.folder.Path(fmt.Sprintf("program-%d", b.count))
	if err := os.Mkdir(folder, 0o700); err != nil {
		return built{err: err}
	}
	args, err := b.arguments(folder)
	if err != nil {
		return built{err: err}
	}
	_, err = b.goes.Run(ctx, b.dir, b.settings(), args...)
	result := built{err: err, took: time.Since(begun)}
	if failed, ok := errors.AsType[*gocommand.Error](err); ok {
		result.output, result.problems = failed.Output, problems(failed.Output, b.dir, b.root)
	}
	if err != nil {
		return result
	}
	names, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(names) != 1 {
		result.err = fmt.Errorf("build.go.package: %s is not a main package, so it makes no program", b.recipe.Package)
		return result
	}
	result.program = names[0]
	return result
}

// keep removes every program but one.
func (b *builder) keep(program string) {
	folders, _ := filepath.Glob(b.folder.Path("program-*"))
	for _, folder := range folders {
		if folder != filepath.Dir(program) {
			_ = os.RemoveAll(folder) // one that is left goes with the folder
		}
	}
}

func (b *builder) arguments(folder string) ([]string, error) {
	args := []string{"build", "-buildvcs=false"}
	if len(b.recipe.LDFlags) > 0 {
		flags, err := quoted(b.recipe.LDFlags)
		if err != nil {
			return nil, err
		}
		args = append(args, "-ldflags="+flags)
	}
	if len(b.recipe.Tags) > 0 {
		args = append(args, "-tags="+strings.Join(b.recipe.Tags, ","))
	}
	return append(args, "-o", folder+string(filepath.Separator), "."), nil
}

func (b *builder) settings() map[string]string {
	settings := map[string]string{"GOTMPDIR": b.folder.Path("tmp"), "GOTOOLCHAIN": "auto", "GOWORK": "off"}
	if b.recipe.Toolchain != "" {
		settings["GOTOOLCHAIN"] = b.recipe.Toolchain
	}
	for name, value := range b.recipe.Env {
		settings[name] = value
	}
	for dir := path.Clean(b.recipe.Package); ; dir = path.Dir(dir) {
		file := filepath.Join(b.root, filepath.FromSlash(dir), "go.work")
		if _, err := os.Stat(file); err == nil {
			settings["GOWORK"] = file
			break
		}
		if dir == "." || dir == "/" {
			break
		}
	}
	return settings
}

// quoted joins arguments so that the go command splits them again as they were: it
// knows single and double quotes, and no escapes.
func quoted(args []string) (string, error) {
	var all []string
	for _, arg := range args {
		switch {
		case arg != "" && !strings.ContainsAny(arg, " \t\n\r'\""):
		case !strings.Contains(arg, "'"):
			arg = "'" + arg + "'"
		case !strings.Contains(arg, `"`):
			arg = `"` + arg + `"`
		default:
			return "", fmt.Errorf("build.go.ldflags: %s has both kinds of quotes, which the go command cannot be told", arg)
		}
		all = append(all, arg)
	}
	return strings.Join(all, " "), nil
}
