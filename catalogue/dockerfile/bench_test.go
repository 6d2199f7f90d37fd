package dockerfile

import (
	"fmt"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// A context of 50,000 files, as BuildKit would have to be sent it. Two fifths of
// it are ignored.
func BenchmarkReads(b *testing.B) {
	files := map[string]source.File{
		".dockerignore": {Content: "**/node_modules\n**/*.md\n.git\n*.log\n!web/keep.log\n**/.cache\ndist/**\n/tmp\n**/*_test.go\ncoverage\n"},
	}
	for i := range 50_000 {
		dir := [...]string{"src", "libs", "web", "web/node_modules", "node_modules"}[i%5]
		files[fmt.Sprintf("%s/p%d/q%d/f%d.go", dir, i%100, i%700, i)] = source.File{}
	}
	tree, err := source.FromFiles(files)
	if err != nil {
		b.Fatal(err)
	}
	for name, instruction := range map[string]string{
		"all": "COPY . /", "folder": "COPY src/p1 /", "wildcard": "COPY go.* /", "parents": "COPY --parents **/f1*.go /", "exclude": "COPY --exclude=**/f1*.go . /",
	} {
		b.Run(name, func(b *testing.B) {
			p := planned(b, "FROM scratch\n"+instruction, Options{})
			for b.Loop() {
				if _, err := p.Reads(b.Context(), tree); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
