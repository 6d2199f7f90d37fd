package catalogue

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// largeTree has 300 images and 50,000 files: for each image a folder of a
// hundred, and libraries that they share.
func largeTree(t testing.TB, inputs func(i int) string) source.Tree {
	t.Helper()
	var yaml strings.Builder
	yaml.WriteString(header + "images:\n")
	files := []file{
		{path: "go.mod", content: "module example.org/shop\n\ngo 1.26.0\n\ntoolchain go1.26.8\n"}, {path: "go.sum"},
		locked(t, "alpine:3", digestOf("1"), "node:24", digestOf("2")),
	}
	folder := func(dir string, n int) {
		for i := range n {
			kind := [...]string{".go", "_test.go", ".md", ".js", ".css"}[i%5]
			files = append(files, file{path: fmt.Sprintf("%s/p%d/f%03d%s", dir, i%7, i, kind), content: fmt.Sprint(dir, i)})
		}
	}
	for i := range 300 {
		build := fmt.Sprintf("{go: {package: ./services/s%03d, base: 'alpine:3'}}", i)
		switch i % 6 {
		case 4:
			build = fmt.Sprintf("{dockerfile: {path: services/s%03d/Dockerfile}}", i)
		case 5:
			build = fmt.Sprintf("{files: {from: services/s%03d}}", i)
		}
		fmt.Fprintf(&yaml, "- name: s%03d\n  build: %s\n  inputs: [%s]\n", i, build, inputs(i))
		folder(fmt.Sprintf("services/s%03d", i), 100)
		files = append(files, file{path: fmt.Sprintf("services/s%03d/main.go", i), content: "package main"},
			file{path: fmt.Sprintf("services/s%03d/Dockerfile", i), content: fmt.Sprintf("FROM node:24 AS build%d\nFROM alpine:3\n", i)})
	}
	for i := range 100 {
		folder(fmt.Sprintf("libs/l%02d", i), 100)
		folder(fmt.Sprintf("docs/d%02d", i), 100)
	}
	yaml.WriteString("delivery: ['gitops/**']\nneutral: ['**/*.md', 'docs/**']\n")
	return makeTree(t, append(files, file{path: FileName, content: yaml.String()}, file{path: "gitops/x"})...)
}

var benchInputs = map[string]func(int) string{
	"folders": func(i int) string {
		return fmt.Sprintf("services/s%03d, libs/l%02d, libs/l%02d, libs/l%02d, go.mod, go.sum", i, i%100, i*7%100, i*13%100)
	},
	"without tests": func(i int) string {
		return fmt.Sprintf("services/s%03d, libs, go.mod, go.sum, '!**/*_test.go'", i)
	},
	"everywhere": func(i int) string {
		return fmt.Sprintf("services/s%03d, '**/*.go', '**/*.js', go.mod, go.sum, '!**/*_test.go', '!**/*.md'", i)
	},
}

func BenchmarkStates(b *testing.B) {
	for name, inputs := range benchInputs {
		b.Run(name, func(b *testing.B) {
			tree := largeTree(b, inputs)
			c, err := Load(b.Context(), tree)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if states, err := c.States(b.Context(), tree); err != nil || len(states) != 300 {
					b.Fatal(len(states), err)
				}
			}
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	for name, inputs := range benchInputs {
		b.Run(name, func(b *testing.B) {
			tree := largeTree(b, inputs)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Check(b.Context(), tree); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkClassify(b *testing.B) {
	for name, inputs := range benchInputs {
		b.Run(name, func(b *testing.B) {
			tree := largeTree(b, inputs)
			empty := makeTree(b, file{path: FileName, content: header})
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Classify(b.Context(), empty, tree, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
