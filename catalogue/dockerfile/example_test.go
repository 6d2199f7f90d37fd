package dockerfile_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/pharos-dev/pharos/catalogue/dockerfile"
	"github.com/pharos-dev/pharos/catalogue/source"
)

const content = `# syntax=docker/dockerfile:1
ARG GO=1.26
FROM --platform=$BUILDPLATFORM golang:$GO AS build
WORKDIR /src
COPY go.mod go.sum ./
COPY cmd cmd
COPY configs/*.json configs/
RUN go build -o /out/app ./cmd/app

FROM gcr.io/distroless/static
COPY --from=build /out/app /app
`

func Example() {
	ctx := context.Background()
	tree, err := source.FromFiles(map[string]source.File{
		"Dockerfile":           {Content: content},
		".dockerignore":        {Content: "**/*_test.go\n"},
		"README.md":            {Content: "# app\n"},
		"go.mod":               {Content: "module app\n"},
		"go.sum":               {},
		"cmd/app/main.go":      {Content: "package main\n"},
		"cmd/app/main_test.go": {Content: "package main\n"},
	})
	if err != nil {
		log.Fatal(err)
	}
	f, err := dockerfile.Parse("Dockerfile", []byte(content))
	if err != nil {
		log.Fatal(err)
	}
	p, err := f.Plan(dockerfile.Options{Platform: "linux/arm64", Args: map[string]string{"GO": "1.26.8"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("frontend:", p.Frontend)
	fmt.Println("bases:   ", p.Bases)
	r, err := p.Reads(ctx, tree)
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range r.Files {
		fmt.Println("reads:   ", name)
	}
	for _, s := range r.Missing {
		fmt.Printf("line %d:   %s %s\n", s.Line, s.Path, s.Reason)
	}
	// Output:
	// frontend: docker/dockerfile:1
	// bases:    [golang:1.26.8 gcr.io/distroless/static]
	// reads:    .dockerignore
	// reads:    Dockerfile
	// reads:    cmd/app/main.go
	// reads:    go.mod
	// reads:    go.sum
	// line 7:   configs/*.json leads to nothing in the build context
}

func ExampleParseError() {
	f, err := dockerfile.Parse("web/Dockerfile", []byte("ARG NODE\nFROM node:$NODE-slim\n"))
	if err != nil {
		log.Fatal(err)
	}
	_, err = f.Plan(dockerfile.Options{})
	if wrong := (*dockerfile.ParseError)(nil); errors.As(err, &wrong) {
		fmt.Println(wrong.Path, "line", wrong.Line)
	}
	fmt.Println(err)
	// Output:
	// web/Dockerfile line 2
	// web/Dockerfile:2: FROM node:$NODE-slim: the argument NODE has no value: give it a default in an ARG before the first FROM, or a value in the recipe
}
