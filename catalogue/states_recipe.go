package catalogue

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// checkRecipe says whether the inputs hold what the recipe starts from, all
// that is missing at once, and which Go toolchain it declares if it builds a Go
// package.
func (i *Image) checkRecipe(ctx context.Context, inputs source.Tree) (toolchain string, err error) {
	switch b := i.Build; {
	case b.Go != nil:
		var errs []error
		if base := b.Go.base(); base != Scratch && !strings.Contains(base, "@sha256:") {
			errs = append(errs, fmt.Errorf("%w: name %s as %s@sha256:…", ErrUnlocked, base, base))
		}
		t, err := GoToolchain(ctx, *b.Go, inputs)
		errs = append(errs, err)
		for _, asset := range b.Go.Assets {
			errs = append(errs, need(ctx, inputs, asset, "is an asset of the image"))
		}
		return t.Name, errors.Join(errs...)
	case b.Files != nil:
		return "", need(ctx, inputs, b.Files.From, "is what the image is made of")
	default:
		return "", fmt.Errorf("its kind of build is %w", ErrUnsupported)
	}
}

// need returns an *InputError if the inputs have no such file or folder.
func need(ctx context.Context, inputs source.Tree, name, use string) error {
	name = cleanPath(name)
	if name == "." {
		return nil
	}
	_, err := inputs.Lookup(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return &InputError{Path: name, Reason: use + ", and is not among its inputs: add it to them"}
	}
	return err
}

// Toolchain is the Go toolchain that a recipe and its inputs declare.
type Toolchain struct {
	// Name is "go1.26.8".
	Name string
	// Pinned says that the toolchain is named as such. If not, Name follows
	// from a go line, which says only which is the oldest that will do.
	Pinned bool
	// From says what declares it: "pharos.yaml", or the path of a go.mod.
	From string
}

// GoToolchain returns the toolchain that a Go package is to be built with: that
// of the recipe, else of the toolchain line, else of the go line of the go.mod
// that governs the package, which is the nearest one above it in its inputs.
// The error is an *InputError if the inputs have no such file, or it declares
// none.
func GoToolchain(ctx context.Context, b GoBuild, inputs source.Tree) (Toolchain, error) {
	gomod, entry, err := governingModule(ctx, inputs, cleanPath(b.Package))
	if err != nil {
		return Toolchain{}, err
	}
	if b.Toolchain != "" {
		return Toolchain{Name: b.Toolchain, Pinned: true, From: FileName}, nil
	}
	if entry.Mode == source.ModeSymlink {
		return Toolchain{}, &InputError{Path: gomod, Reason: "is a symbolic link, which is not followed for the toolchain: set build.go.toolchain in " + FileName}
	}
	data, err := inputs.ReadFile(ctx, gomod)
	if err != nil {
		return Toolchain{}, err
	}
	return moduleToolchain(gomod, data)
}

func moduleToolchain(gomod string, data []byte) (Toolchain, error) {
	// Lax, since newer versions of Go add directives; it leaves the toolchain
	// line out, which matters in the main module only.
	parsed, err := modfile.ParseLax(gomod, data, nil)
	if err != nil {
		return Toolchain{}, &InputError{Path: gomod, Reason: "is not a go.mod: " + err.Error()}
	}
	for _, stmt := range parsed.Syntax.Stmt {
		line, ok := stmt.(*modfile.Line)
		if ok && len(line.Token) == 2 && line.Token[0] == "toolchain" && line.Token[1] != "default" {
			return Toolchain{Name: line.Token[1], Pinned: true, From: gomod}, nil
		}
	}
	if parsed.Go == nil {
		return Toolchain{}, &InputError{Path: gomod, Reason: "has neither a toolchain nor a go line: add one, or set build.go.toolchain in " + FileName}
	}
	return Toolchain{Name: "go" + parsed.Go.Version, From: gomod}, nil
}

// governingModule finds the go.mod of the package in folder dir. It asks for
// the path before the content, so that a file that cannot be read is not taken
// for one that is not there.
func governingModule(ctx context.Context, tree source.Tree, dir string) (file string, entry source.Entry, err error) {
	for at := dir; ; at = path.Dir(at) {
		file = path.Join(at, "go.mod")
		entry, err = tree.Lookup(ctx, file)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return file, entry, err
		}
		if at == "." || at == "/" || at == ".." {
			return "", source.Entry{}, &InputError{Path: dir, Reason: "is a Go package without a go.mod above it among the inputs: add go.mod and go.sum to them"}
		}
	}
}
