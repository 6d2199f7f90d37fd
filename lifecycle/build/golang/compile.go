package golang

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/gocommand"
	"github.com/pharos-dev/pharos/internal/processgroup"
)

// compile builds the package for one platform and returns the program's path.
// When ctx ends, so does all that was started.
func (b *build) compile(ctx context.Context, m *module, tc *toolchain, p catalogue.Platform) (string, error) {
	out := b.folder.Path("out", fileName(p))
	if err := os.Mkdir(out, 0o700); err != nil {
		return "", b.broken(err)
	}
	args, err := b.arguments(m, p, out)
	if err != nil {
		return "", b.broken(err)
	}
	printed := b.output.writer(b.folder.Path())
	cmd := gocommand.Process(ctx, b.goCommand, b.disk(m.dir), b.compileEnv(m, tc, p), args...)
	cmd.Stdout, cmd.Stderr = printed, printed
	err = b.share(ctx, m, tc, p, func() error { return processgroup.Run(cmd) })
	printed.flush()
	if err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", b.compileError(ctx, m, tc, p, printed.tail(), err)
	}
	built, err := os.ReadDir(out)
	if err != nil || len(built) != 1 {
		return "", b.broken(errors.Join(fmt.Errorf("go build wrote %d programs", len(built)), err))
	}
	return filepath.Join(out, built[0].Name()), nil
}

func (b *build) arguments(m *module, p catalogue.Platform, out string) ([]string, error) {
	// The linker asks the machine's C compiler for a library, or to link, where a
	// package has an object file (.syso).
	ldflags, err := joinQuoted(append([]string{"-buildid=", "-linkmode=internal", "-libgcc=none"}, b.recipes[p].LDFlags...))
	if err != nil {
		return nil, err
	}
	mod := "-mod=readonly"
	if m.vendored {
		mod = "-mod=vendor"
	}
	args := []string{"build", "-trimpath", "-buildvcs=false", mod, "-ldflags=" + ldflags}
	if tags := b.recipes[p].Tags; len(tags) > 0 {
		args = append(args, "-tags="+strings.Join(tags, ","))
	}
	pkg, err := filepath.Rel(b.disk(m.dir), b.disk(m.pkg))
	if err != nil {
		return nil, err
	}
	return append(args, "-o", out+string(filepath.Separator), "."+string(filepath.Separator)+pkg), nil
}

// compileEnv is everything that has a say in the result, over what the user's
// environment says about where to find things.
func (b *build) compileEnv(m *module, tc *toolchain, p catalogue.Platform) gocommand.Environment {
	env := b.env.User()
	env.SetMap(tc.settings)
	env.SetMap(gocommand.Fixed())
	env.SetMap(b.recipe.Env)
	env.SetMap(gocommand.Platform(p.OS, p.Architecture, p.Variant))
	work := "off"
	if m.work != nil {
		work = filepath.Join(b.disk(m.workDir), "go.work")
	}
	env.SetAll("GOWORK="+work, "GOTOOLCHAIN="+tc.setting, "GOTMPDIR="+b.folder.Path("tmp"))
	if cache := tc.buildCache(); cache != "" {
		env.SetAll("GOCACHE=" + cache)
	}
	return env
}

func (b *build) compileError(ctx context.Context, m *module, tc *toolchain, p catalogue.Platform, output string, err error) error {
	// What a server says of permissions is no fault of this machine's folders.
	if err := b.networkError("get the modules of image", output, err); err != nil {
		return err
	}
	if err := b.machineError(tc, output, err); err != nil {
		return err
	}
	found := b.explain(ctx, m, tc, p, output)
	if !found.Any() && strings.Contains(output, "no main packages to build") {
		found.Add("build.go.package: %s is not a main package, so it makes no program", m.pkg)
	}
	if strings.Contains(output, "external linking required") {
		found.Add("only a C compiler's linker can link it, and that would be whichever the machine has: leave out the object file (*.syso) that the linker cannot read, or build the image from a Dockerfile whose base is locked")
	}
	if !found.Any() {
		found.Add("go build failed for %s", p)
	}
	return found.BuildError(output, err)
}

// joinQuoted joins arguments so that the Go command splits them again as they
// were: it knows single and double quotes, and no escapes.
func joinQuoted(args []string) (string, error) {
	quoted := slices.Clone(args)
	for i, arg := range args {
		switch {
		case arg != "" && !strings.ContainsAny(arg, " \t\n\r'\""):
		case !strings.Contains(arg, "'"):
			quoted[i] = "'" + arg + "'"
		case !strings.Contains(arg, `"`):
			quoted[i] = `"` + arg + `"`
		default:
			return "", fmt.Errorf("%s has both kinds of quotes, which the Go command cannot be told", arg)
		}
	}
	return strings.Join(quoted, " "), nil
}
