package catalogue

import (
	"context"
	"errors"
	"fmt"
	"path"
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
		findings = append(findings, Finding{Path: toolchain.From, Message: fmt.Sprintf(
			"the Go toolchain is not pinned: %s has only a go line, so whichever newer one is there builds the image; add a toolchain line to it, or set build.go.toolchain", toolchain.From)})
	}
	return findings, nil
}

// checkOwn says whether the inputs hold what the recipe names.
func checkOwn(ctx context.Context, tree source.Tree, image Image) ([]Finding, error) {
	switch b := image.Build; {
	case b.Go != nil:
		return checkGoFiles(ctx, tree, image.Inputs, cleanPath(b.Go.Package))
	case b.Dockerfile != nil && !image.Inputs.Match(b.Dockerfile.file()):
		file := b.Dockerfile.file()
		return []Finding{{Path: file, Message: "its own " + file + " is not among the inputs: add it to them"}}, nil
	}
	return nil, nil
}

// checkGoFiles says whether the inputs hold the Go files of the folder.
func checkGoFiles(ctx context.Context, tree source.Tree, inputs Patterns, dir string) ([]Finding, error) {
	files, err := tree.ReadDir(ctx, dir)
	if err != nil && !errors.Is(err, source.ErrNotFound) {
		return nil, err
	}
	there, chosen := false, false
	for _, e := range files {
		if e.Mode != source.ModeDir && strings.HasSuffix(e.Name, ".go") && !strings.HasSuffix(e.Name, "_test.go") {
			there, chosen = true, chosen || inputs.Match(path.Join(dir, e.Name))
		}
	}
	switch {
	case !there:
		return []Finding{{Path: dir, Message: fmt.Sprintf("the tree has no Go package in %s: correct build.go.package", dir)}}, nil
	case !chosen:
		return []Finding{{Path: dir, Message: fmt.Sprintf("its own Go package in %s is not among the inputs: add it to them", dir)}}, nil
	}
	return nil, nil
}
