package golang

import (
	"bytes"
	"context"
	"errors"
	gobuild "go/build"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/problem"
)

// explain looks for what a build misses: it walks the package's imports within the
// tree, as far as the full tree has them, and notes what the inputs leave out of
// it. output is what a build that failed printed: what may be missing then is
// noted as well. A build that succeeds does not pay for it.
func (b *build) explain(ctx context.Context, m *module, tc *toolchain, p catalogue.Platform, output string) *problem.List {
	e := &explanation{
		build: b, ctx: ctx, module: m, seen: map[string]bool{},
		List: problem.List{Image: b.request.State.Image.Name},
		// An identifier without a declaration may be declared in a file that is
		// left out; other failures do not come from that.
		undefined: strings.Contains(output, "undefined") || strings.Contains(output, "missing function body") ||
			strings.Contains(output, "build constraints exclude all Go files"),
	}
	e.match = gobuild.Context{
		GOOS: p.OS, GOARCH: p.Architecture, Compiler: "gc", BuildTags: b.recipes[p].Tags,
		ReleaseTags: tc.releaseTags(),
		JoinPath:    path.Join,
		OpenFile: func(name string) (io.ReadCloser, error) {
			data, err := e.read(name)
			return io.NopCloser(bytes.NewReader(data)), err
		},
	}
	e.visit(m.pkg)
	return &e.List
}

type explanation struct {
	*build
	problem.List
	ctx       context.Context
	module    *module
	match     gobuild.Context
	seen      map[string]bool
	undefined bool
}

// visit looks at one package's folder.
func (e *explanation) visit(dir string) {
	if e.seen[dir] {
		return
	}
	e.seen[dir] = true
	declared := e.goFiles(e.diskNames(dir), dir)
	full := e.goFiles(e.fullNames(dir), dir)
	if len(declared) == 0 {
		if len(full) == 0 {
			return
		}
		e.Miss(dir, problem.Literal(dir))
		declared = full
	}
	for _, name := range full {
		file := path.Join(dir, name)
		if e.undefined && !slices.Contains(declared, name) {
			e.Miss(file, problem.Literal(file))
		}
	}
	for _, name := range declared {
		e.visitFile(dir, path.Join(dir, name))
	}
}

func (e *explanation) visitFile(dir, file string) {
	data, err := e.read(file)
	if err != nil {
		return
	}
	// What does not parse is in the compiler's own output.
	parsed, err := parser.ParseFile(token.NewFileSet(), file, data, parser.ImportsOnly)
	if err != nil {
		return
	}
	var imports []string
	for _, spec := range parsed.Imports {
		if importPath, err := strconv.Unquote(spec.Path.Value); err == nil {
			imports = append(imports, importPath)
		}
	}
	if slices.Contains(imports, "C") { // the Go command leaves the file out
		if e.undefined {
			e.Add("%s imports \"C\", and programs are built without cgo, whose compiler would be whichever the machine has: build the image from a Dockerfile whose base is locked", file)
		}
		return
	}
	e.checkEmbeds(dir, file, data)
	for _, importPath := range imports {
		if next, ok := e.local(importPath); ok {
			e.visit(next)
		}
	}
}

// local is the folder in the tree of an import path, if one of the modules whose
// code is in the tree provides it: the one of the longest path, and no module in a
// folder of it, which is found elsewhere.
func (e *explanation) local(importPath string) (dir string, ok bool) {
	var module localModule
	for _, l := range e.module.locals {
		rest, found := strings.CutPrefix(importPath, l.path)
		if found && (rest == "" || rest[0] == '/') && (!ok || len(l.path) > len(module.path)) {
			module, dir, ok = l, path.Join(l.dir, rest), true
		}
	}
	for inner := dir; ok && inner != module.dir; inner = path.Dir(inner) {
		if _, err := e.read(path.Join(inner, "go.mod")); err == nil {
			return "", false
		}
	}
	return dir, ok
}

// goFiles returns those that a build for the platform compiles.
func (e *explanation) goFiles(names []string, dir string) []string {
	return slices.DeleteFunc(names, func(name string) bool {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return true
		}
		match, err := e.match.MatchFile(dir, name)
		return err != nil || !match
	})
}

// checkEmbeds looks at the //go:embed lines of a file. A pattern that matches
// something among the inputs is not looked at further.
func (e *explanation) checkEmbeds(dir, file string, data []byte) {
	var tokens scanner.Scanner
	at := token.NewFileSet().AddFile(file, -1, len(data))
	tokens.Init(at, data, nil, scanner.ScanComments)
	for pos, tok, text := tokens.Scan(); tok != token.EOF; pos, tok, text = tokens.Scan() {
		args, ok := strings.CutPrefix(text, "//go:embed ")
		if !ok || tok != token.COMMENT {
			continue
		}
		for _, pattern := range embedPatterns(args) {
			e.checkEmbed(dir, file, at.PositionFor(pos, false).Line, strings.TrimPrefix(pattern, "all:"))
		}
	}
}

func (e *explanation) checkEmbed(dir, file string, line int, pattern string) {
	if path.IsAbs(pattern) || pattern == ".." || strings.HasPrefix(pattern, "../") || strings.Contains(pattern, "/../") {
		e.Add("%s:%d: //go:embed %s leads out of the package's folder, which Go does not allow", file, line, pattern)
		return
	}
	here, err := filepath.Glob(filepath.Join(e.disk(dir), filepath.FromSlash(pattern)))
	if err != nil || len(here) > 0 {
		return
	}
	for _, found := range e.globFull(dir, strings.Split(pattern, "/")) {
		// The pattern that the source has is one that the catalogue has too,
		// below the package's folder.
		e.Miss(found, path.Join(problem.Literal(dir), pattern))
	}
}

// globFull finds the paths of the full tree that match, element by element.
func (e *explanation) globFull(dir string, elements []string) []string {
	var found []string
	for _, name := range e.fullNames(dir) {
		if ok, err := path.Match(elements[0], name); err != nil || !ok {
			continue
		}
		if p := path.Join(dir, name); len(elements) == 1 {
			found = append(found, p)
		} else {
			found = append(found, e.globFull(p, elements[1:])...)
		}
	}
	return found
}

// embedPatterns splits the arguments of a //go:embed line.
func embedPatterns(args string) []string {
	var patterns []string
	for args = strings.TrimSpace(args); args != ""; args = strings.TrimSpace(args) {
		if quoted, err := strconv.QuotedPrefix(args); err == nil {
			args = args[len(quoted):]
			if p, err := strconv.Unquote(quoted); err == nil {
				patterns = append(patterns, p)
			}
			continue
		}
		end := strings.IndexAny(args, " \t")
		if end < 0 {
			end = len(args)
		}
		patterns, args = append(patterns, args[:end]), args[end:]
	}
	return patterns
}

func (e *explanation) read(file string) ([]byte, error) {
	data, err := os.ReadFile(e.disk(file))
	if errors.Is(err, fs.ErrNotExist) {
		return e.request.Full.ReadFile(e.ctx, file)
	}
	return data, err
}

func (e *explanation) diskNames(dir string) []string {
	entries, err := os.ReadDir(e.disk(dir))
	if err != nil {
		return nil
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func (e *explanation) fullNames(dir string) []string {
	entries, err := e.request.Full.ReadDir(e.ctx, dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name)
	}
	return names
}
