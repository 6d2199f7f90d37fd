package files_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle/build/files"
)

// BenchmarkManyFiles packs fifty thousand files of a repository, 1 KiB each on
// average.
func BenchmarkManyFiles(b *testing.B) {
	all := map[string]source.File{}
	for i := range 50_000 {
		all[fmt.Sprintf("d%03d/f%05d", i%500, i)] = source.File{Content: strings.Repeat(fmt.Sprintln(i*2654435761%1000003), 1+i%300)}
	}
	tree := treeAt(b, repository(b, all))
	builder, err := files.New(files.Config{Registry: discard{}, TempDir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	r := request("localhost:1", tree, tree, catalogue.FilesBuild{Root: "/srv"})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := builder.Build(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
}
