package golang

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/catalogue"
)

// baseline is the least of every architecture, as the Go command has it by
// default; named here so that no "go env -w" of this machine can change it.
var baseline = []string{
	"GO386=sse2", "GOAMD64=v1", "GOARM=7", "GOARM64=v8.0", "GOMIPS=hardfloat", "GOMIPS64=hardfloat",
	"GOPPC64=power8", "GORISCV64=rva20u64", "GOFIPS140=off",
}

// compile builds the package for one platform and returns the program's path.
// When ctx ends, so does all that was started.
func (b *build) compile(ctx context.Context, m *module, tc *toolchain, p catalogue.Platform) (string, error) {
	out := filepath.Join(b.folder.out(), fileName(p))
	if err := os.Mkdir(out, 0o700); err != nil {
		return "", b.broken(err)
	}
	args, err := b.arguments(m, out)
	if err != nil {
		return "", b.broken(err)
	}
	printed := b.output.writer(b.folder.path)
	cmd := b.command(ctx, b.disk(m.dir), b.compileEnv(m, tc, p), args...)
	cmd.Stdout, cmd.Stderr = printed, printed
	err = b.share(ctx, m, tc, p, cmd.Run)
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

func (b *build) arguments(m *module, out string) ([]string, error) {
	ldflags, err := joinQuoted(append([]string{"-buildid="}, b.recipe.LDFlags...))
	if err != nil {
		return nil, err
	}
	mod := "-mod=readonly"
	if m.vendored {
		mod = "-mod=vendor"
	}
	args := []string{"build", "-trimpath", "-buildvcs=false", mod, "-ldflags=" + ldflags}
	if len(b.recipe.Tags) > 0 {
		args = append(args, "-tags="+strings.Join(b.recipe.Tags, ","))
	}
	pkg, err := filepath.Rel(b.disk(m.dir), b.disk(m.pkg))
	if err != nil {
		return nil, err
	}
	return append(args, "-o", out+string(filepath.Separator), "."+string(filepath.Separator)+pkg), nil
}

// compileEnv is everything that has a say in the result, over what the user's
// environment says about where to find things.
func (b *build) compileEnv(m *module, tc *toolchain, p catalogue.Platform) environment {
	env := b.env.forUser()
	for name, value := range tc.settings {
		env.set(name, value)
	}
	env.setAll(baseline...)
	env.setAll("CGO_ENABLED=0")
	for name, value := range b.recipe.Env {
		env.set(name, value)
	}
	work := "off"
	if m.work != nil {
		work = filepath.Join(b.disk(m.workDir), "go.work")
	}
	env.setAll(platformEnv(p)...)
	env.setAll("GOENV=off", "GOFLAGS=", "GO111MODULE=on", "GOWORK="+work,
		"GOTOOLCHAIN="+tc.setting, "GOTMPDIR="+b.folder.tmp(), "PWD="+b.disk(m.dir))
	return env
}

// command is a run of the Go command that ends, with all it started, when ctx does.
func (b *build) command(ctx context.Context, dir string, env environment, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.goCommand, args...)
	cmd.Dir, cmd.Env = dir, env.list()
	// Time for the last of its output, which a child may hold open.
	cmd.WaitDelay = 5 * time.Second
	ownGroup(cmd)
	return cmd
}

func (b *build) compileError(ctx context.Context, m *module, tc *toolchain, p catalogue.Platform, output string, err error) error {
	// What a server says of permissions is no fault of this machine's folders.
	if err := b.networkError("get the modules of image", output, err); err != nil {
		return err
	}
	if err := b.machineError(tc, output, err); err != nil {
		return err
	}
	found := b.explain(ctx, m, p, output)
	if !found.any() && strings.Contains(output, "no main packages to build") {
		found.add("build.go.package: %s is not a main package, so it makes no program", m.pkg)
	}
	if !found.any() {
		found.add("go build failed for %s", p)
	}
	return found.buildError(output, err)
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
