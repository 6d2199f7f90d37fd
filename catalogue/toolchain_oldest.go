package catalogue

import (
	"context"
	"go/version"

	"golang.org/x/mod/modfile"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// OldestGo returns the oldest Go that will do for a package: the newer one of the
// go lines of its go.mod and of the go.work that uses the module, and the file
// that says so. The Name is "go1.26.8", or empty if there is no go line. The error
// is as for GoToolchain.
func OldestGo(ctx context.Context, b GoBuild, inputs source.Tree) (Toolchain, error) {
	module, err := findModule(ctx, inputs, b.Package)
	if err != nil {
		return Toolchain{}, err
	}
	if err := module.findWork(ctx, inputs, b.Env, new(modules)); err != nil {
		return Toolchain{}, err
	}
	data, err := module.mod.read(ctx, inputs)
	if err != nil {
		return Toolchain{}, err
	}
	parsed, err := modfile.ParseLax(module.mod.path, data, nil)
	if err != nil {
		return Toolchain{}, &InputError{Path: module.mod.path, Reason: "is not a go.mod: " + err.Error()}
	}
	var oldest Toolchain
	if parsed.Go != nil {
		oldest = Toolchain{Name: "go" + parsed.Go.Version, From: module.mod.path}
	}
	if work := module.workFile; work != nil && work.Go != nil && version.Compare("go"+work.Go.Version, oldest.Name) > 0 {
		oldest = Toolchain{Name: "go" + work.Go.Version, From: module.work}
	}
	return oldest, nil
}
