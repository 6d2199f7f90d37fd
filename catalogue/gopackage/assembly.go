package gopackage

import (
	"context"
	"path"

	"github.com/pharos-dev/pharos/internal/asminclude"
)

// assembly adds what the assembly files of a package include, which "go list"
// does not say, and the includes that lead out of the tree.
func (f *Folder) assembly(ctx context.Context, r *reading, dir string, p *listed) error {
	files := make([]string, len(p.SFiles))
	for i, name := range p.SFiles {
		files[i] = path.Join(dir, name)
	}
	included, err := asminclude.Check(assemblyTree{ctx, f}, dir, files)
	for _, name := range included.Files {
		f.file(r, name, Source, p.ImportPath)
	}
	for _, problem := range included.Problems {
		r.problem(Problem{At: problem.At, Message: problem.Message})
	}
	return err
}

// assemblyTree reads the tree's own files: what is written out lacks those whose
// names are no source's.
type assemblyTree struct {
	ctx context.Context // of the one call that it is made for
	*Folder
}

func (t assemblyTree) ReadFile(name string) ([]byte, error) { return t.tree.ReadFile(t.ctx, name) }

func (t assemblyTree) Resolve(name string) string { return t.follow(name, func(string) {}) }
