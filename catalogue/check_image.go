package catalogue

import (
	"context"
	"errors"
	"fmt"
	"go/version"
	"path"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// goSums are the checksum files of a Go image's module.
type goSums struct {
	module  *goModule
	missing map[string]bool // those that are not in the tree
	needed  bool            // something of the module or its workspace is not in the tree
}

// literally says whether the pattern names a checksum file that is not there. A
// module that requires nothing has none, and one that does is told so once.
func (g *goSums) literally(p *pattern) bool {
	return g != nil && !p.exclude && p.literal() && g.missing[p.text]
}

// readSums looks for the checksum files of a Go image; nil if it is none, or has
// no module.
func readSums(ctx context.Context, tree source.Tree, image Image) (*goSums, error) {
	b := image.Build.Go
	if b == nil {
		return nil, nil
	}
	module, err := findModule(ctx, tree, b.Package)
	if err == nil {
		err = module.findWork(ctx, tree, b.Env, new(modules))
	}
	if _, told := errors.AsType[*InputError](err); told {
		return nil, nil // by States
	}
	if err != nil {
		return nil, err
	}
	sums := &goSums{module: module, missing: map[string]bool{}}
	for _, file := range module.sums() {
		e, err := find(ctx, tree, file)
		if err != nil {
			return nil, err
		}
		if e.Mode == 0 {
			sums.missing[file] = true
		}
	}
	sums.needed, err = module.requires(ctx, tree)
	sums.needed = sums.needed || module.work != ""
	return sums, err
}

// check says what is wrong with the checksum files. In a workspace any may be
// missing, since the others may hold what is needed.
func (g *goSums) check(image Image) []Finding {
	if g == nil || !g.needed {
		return nil
	}
	var findings []Finding
	for i, file := range g.module.sums() {
		switch {
		case !g.missing[file] && !image.Inputs.Match(file):
			findings = append(findings, Finding{Path: file, Message: file + " is not among the inputs, and holds the checksums of what the package's module requires: add it to them"})
		case g.missing[file] && i == 0 && g.module.work == "":
			findings = append(findings, Finding{Path: file, Message: fmt.Sprintf("%s is not in the tree, and %s requires modules: run go mod tidy, and commit it", file, g.module.mod.path)})
		}
	}
	return findings
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
	if err := module.findWork(ctx, tree, b.Env, new(modules)); err != nil {
		if e, ok := errors.AsType[*InputError](err); ok {
			return []Finding{{Path: e.Path, Message: e.Error()}}, nil
		}
		return nil, err
	}
	for _, file := range []string{module.mod.path, module.work} {
		if file != "" && !s.Image.Inputs.Match(file) {
			findings = append(findings, Finding{Path: file, Message: file + " is not among the inputs, and governs the package: add it to them"})
		}
	}
	toolchain, err := GoToolchain(ctx, b, s.Inputs)
	if err != nil {
		return nil, err
	}
	if !toolchain.Pinned {
		return append(findings, Finding{Path: toolchain.From, Message: fmt.Sprintf(
			"%s's go line, %s, is only the oldest Go that will do: a newer one that is installed builds the image too, under the same fingerprint; name one in build.go.toolchain or in a toolchain line",
			toolchain.From, strings.TrimPrefix(toolchain.Name, "go"))}), nil
	}
	older, err := checkOlder(ctx, b, s.Inputs)
	return append(findings, older...), err
}

// checkOlder says whether build.go.toolchain is older than the go line allows.
func checkOlder(ctx context.Context, b GoBuild, inputs source.Tree) ([]Finding, error) {
	named := b.Toolchain
	if named == "" {
		return nil, nil
	}
	oldest, err := OldestGo(ctx, b, inputs)
	if _, told := errors.AsType[*InputError](err); told {
		return nil, nil // the go command says more
	}
	if err != nil || version.Compare(named, oldest.Name) >= 0 {
		return nil, err
	}
	return []Finding{{Path: oldest.From, Message: fmt.Sprintf(
		"build.go.toolchain %s is older than %s's go %s: raise it", named, oldest.From, strings.TrimPrefix(oldest.Name, "go"))}}, nil
}

// checkOwn says whether there is what the recipe names, and the inputs hold it.
// Where wrong is set, the recipe has to be corrected before anything can be said of
// its inputs.
func checkOwn(ctx context.Context, tree source.Tree, image Image) (findings []Finding, wrong bool, err error) {
	switch b := image.Build; {
	case b.Go != nil:
		return checkGoFiles(ctx, tree, image.Inputs, cleanPath(b.Go.Package))
	case b.Dockerfile != nil:
		file := b.Dockerfile.file()
		entry, err := find(ctx, tree, file)
		switch {
		case err != nil:
			return nil, false, err
		case entry.Mode == 0:
			missing, err := noDockerfile(ctx, tree, file)
			if err != nil {
				return nil, false, err
			}
			return []Finding{{Path: file, Message: missing.Error()}}, true, nil
		case !image.Inputs.Match(file):
			return []Finding{{Path: file, Message: "its own " + file + " is not among the inputs: " + addTo(image.Inputs, file)}}, false, nil
		}
	}
	return nil, false, nil
}

// checkGoFiles says whether the folder holds a program and the inputs its files.
func checkGoFiles(ctx context.Context, tree source.Tree, inputs Patterns, dir string) (findings []Finding, wrong bool, err error) {
	files, err := tree.ReadDir(ctx, dir)
	if err != nil && !errors.Is(err, source.ErrNotFound) {
		return nil, false, err
	}
	there, chosen, program := "", false, false
	for _, e := range files {
		if e.Mode == source.ModeDir || !strings.HasSuffix(e.Name, ".go") || strings.HasSuffix(e.Name, "_test.go") {
			continue
		}
		there, chosen = path.Join(dir, e.Name), chosen || inputs.Match(path.Join(dir, e.Name))
		if !program {
			if program, err = mayBeProgram(ctx, tree, e); err != nil {
				return nil, false, fmt.Errorf("%s: %w", path.Join(dir, e.Name), err)
			}
		}
	}
	switch {
	case there == "":
		return []Finding{{Path: dir, Message: fmt.Sprintf("the tree has no Go package in %s: correct build.go.package", dir)}}, true, nil
	case !program:
		return []Finding{{Path: dir, Message: fmt.Sprintf("build.go.package: %s is not a main package, so it makes no program", dir)}}, true, nil
	case !chosen:
		return []Finding{{Path: dir, Message: fmt.Sprintf("its own Go package in %s is not among the inputs: %s", dir, addTo(inputs, there))}}, false, nil
	}
	return nil, false, nil
}

// addTo says how a file becomes an input.
func addTo(inputs Patterns, name string) string {
	for _, pattern := range slices.Backward(inputs.Strings()) {
		body, excludes := strings.CutPrefix(pattern, "!")
		one, err := ParsePatterns([]string{body})
		if err == nil && excludes && one.Match(name) {
			return fmt.Sprintf("%q excludes it: remove that", pattern)
		}
	}
	return "add it to them"
}
