package render

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A file of the package that is not embedded could change what is rendered, and
// leave renderings valid that were kept before.
func TestAllSourcesAreInTheKey(t *testing.T) {
	t.Parallel()
	embedded, err := fs.Glob(sources, "*")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	if !slices.Equal(embedded, files) {
		t.Errorf("embedded are %v, of %v", embedded, files)
	}
}
