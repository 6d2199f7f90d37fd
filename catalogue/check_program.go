package catalogue

import (
	"context"
	"go/parser"
	gotoken "go/token"
	"io"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// mayBeProgram says whether a Go file belongs to a main package, or cannot be said
// to belong to another one.
func mayBeProgram(ctx context.Context, tree source.Tree, e source.Entry) (bool, error) {
	const most = 1 << 20 // of bytes before the package clause
	if !e.Mode.IsFile() {
		return true, nil
	}
	r, _, err := tree.Objects.Blob(ctx, e.ID)
	if err != nil {
		return false, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, most))
	if err != nil {
		return false, err
	}
	file, err := parser.ParseFile(gotoken.NewFileSet(), "", data, parser.PackageClauseOnly)
	return err != nil || file.Name.Name == "main", nil
}
