package golang

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/pharos-dev/pharos/internal/asminclude"
	"github.com/pharos-dev/pharos/internal/treefiles"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/problem"
)

// checkAssembly refuses assembly files that include what is not in the tree. All
// of the inputs are looked at: which of them the program needs is not known yet.
func (a *analysis) checkAssembly() {
	files, err := treefiles.List(a.ctx, a.request.State.Inputs)
	if err != nil {
		a.err = errors.Join(a.err, fmt.Errorf("look for assembly files: %w", err))
		return
	}
	said := map[asminclude.Problem]bool{} // packages may include the same file
	for _, f := range files {
		if !strings.HasSuffix(f.Path, ".s") {
			continue
		}
		included, err := asminclude.Check(assembly{a}, path.Dir(f.Path), []string{f.Path})
		if err != nil {
			a.err = errors.Join(a.err, err)
			return
		}
		for _, p := range included.Problems {
			if !said[p] {
				a.Add("%s: %s", p.At, p.Message)
			}
			said[p] = true
		}
	}
}

// assembly is the exported tree. What the inputs leave out of the full one is
// noted as missing.
type assembly struct{ *analysis }

func (s assembly) ReadFile(name string) ([]byte, error) {
	// A name that cannot be looked up is none for the assembler either.
	if info, err := os.Stat(s.disk(name)); err == nil && !info.Mode().IsRegular() || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fs.ErrNotExist
	}
	data, ok := s.need(name, problem.Literal(name))
	if !ok {
		return nil, fs.ErrNotExist
	}
	return data, nil
}

func (s assembly) Resolve(name string) string {
	real, err := filepath.EvalSymlinks(s.disk(name))
	if err != nil {
		return name
	}
	if name, err = filepath.Rel(s.folder.Path("src"), real); err != nil {
		return real
	}
	return filepath.ToSlash(name)
}
