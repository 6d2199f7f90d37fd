package catalogue

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// checkCase finds inputs that are one file on a machine that ignores case.
func checkCase(inputs Patterns, paths []string) []Finding {
	var findings []Finding
	first := map[string]string{} // by folded path, of files and directories
	for _, file := range paths {
		if !inputs.Match(file) {
			continue
		}
		for at := range prefixes(file) {
			folded := strings.ToLower(strings.ToUpper(at))
			other, taken := first[folded]
			if !taken {
				first[folded] = at
				continue
			}
			if other != at {
				findings = append(findings, Finding{Path: at, Message: fmt.Sprintf(
					"the inputs %s and %s differ by case only, so not every machine can hold both: rename one", other, at)})
				break
			}
		}
	}
	return slices.CompactFunc(findings, func(a, b Finding) bool { return a.Message == b.Message })
}

// prefixes yields the directories on the way to a file, and the file.
func prefixes(file string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := range len(file) {
			if file[i] == '/' && !yield(file[:i]) {
				return
			}
		}
		yield(file)
	}
}

// checkModule finds what is wrong with the module of an image that has a
// fingerprint. tree is the whole tree.
func checkModule(ctx context.Context, tree source.Tree, s State) ([]Finding, error) {
	if s.Image.Build.Go == nil {
		return nil, nil
	}
	b := *s.Image.Build.Go
	var findings []Finding
	module, err := findModule(ctx, tree, b.Package)
	if err != nil {
		return nil, err
	}
	if err := module.findWork(ctx, tree, b.Env); err != nil {
		if e, ok := errors.AsType[*InputError](err); ok {
			return []Finding{{Path: e.Path, Message: e.Error()}}, nil
		}
		return nil, err
	}
	for _, file := range append([]string{module.mod, module.work}, module.sums()...) {
		if file == "" {
			continue
		}
		_, err := tree.Lookup(ctx, file)
		switch {
		case err == nil && !s.Image.Inputs.Match(file):
			findings = append(findings, Finding{Path: file, Message: file + " is not among the inputs, and governs the package: add it to them"})
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	toolchain, err := GoToolchain(ctx, b, s.Inputs)
	if err != nil {
		return nil, err
	}
	if !toolchain.Pinned {
		findings = append(findings, Finding{Path: toolchain.From, Message: fmt.Sprintf(
			"the Go toolchain is not pinned: %s has only a go line, so whichever newer one is there builds the image; add a toolchain line to it, or set build.go.toolchain", toolchain.From)})
	}
	return findings, nil
}

// checkOwn says whether the inputs hold what the recipe names.
func checkOwn(image Image, paths []string) []Finding {
	switch b := image.Build; {
	case b.Go != nil:
		return checkGoFiles(image.Inputs, cleanPath(b.Go.Package), paths)
	case b.Dockerfile != nil && !image.Inputs.Match(b.Dockerfile.file()):
		file := b.Dockerfile.file()
		return []Finding{{Path: file, Message: "its own " + file + " is not among the inputs: add it to them"}}
	}
	return nil
}

// checkGoFiles says whether the inputs hold the Go files of the folder.
func checkGoFiles(inputs Patterns, dir string, paths []string) []Finding {
	there, chosen := false, false
	for _, file := range paths {
		if path.Dir(file) == dir && strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") {
			there, chosen = true, chosen || inputs.Match(file)
		}
	}
	switch {
	case !there:
		return []Finding{{Path: dir, Message: fmt.Sprintf("the tree has no Go package in %s: correct build.go.package", dir)}}
	case !chosen:
		return []Finding{{Path: dir, Message: fmt.Sprintf("its own Go package in %s is not among the inputs: add it to them", dir)}}
	}
	return nil
}
