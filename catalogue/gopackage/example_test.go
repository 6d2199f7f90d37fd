package gopackage_test

import (
	"context"
	"fmt"
	"os"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/gopackage"
	"github.com/pharos-dev/pharos/catalogue/source"
)

func Example() {
	tree, err := source.FromFiles(map[string]source.File{
		"go.mod":         {Content: "module shop.example\n\ngo 1.26.0\n"},
		"api/main.go":    {Content: "package main\n\nimport _ \"shop.example/log\"\n\nfunc main() {}\n"},
		"log/log.go":     {Content: "package log\n\nimport _ \"embed\"\n\n//go:embed banner.txt\nvar banner string\n"},
		"log/banner.txt": {Content: "Welcome\n"},
		"log/README.md":  {Content: "Nothing reads this.\n"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	folder, err := gopackage.Open(ctx, tree, gopackage.Config{Env: os.Environ()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer folder.Close()
	reads, err := folder.Reads(ctx, []gopackage.Recipe{
		{Build: catalogue.GoBuild{Package: "./api"}, Platforms: []string{"linux/amd64"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range reads[0].Files {
		fmt.Printf("%s (%s)\n", f.Path, f.Why)
	}
	// Output:
	// api/main.go (source)
	// go.mod (module)
	// log/banner.txt (embedded)
	// log/log.go (source)
}
