package catalogue

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The images whose fingerprints are vectors, by the vectors' names: what is
// built on what is pinned with the encoding.
var vectorImages = map[string]string{
	"a Go package on a locked base":              "base",
	"a Go package on an image of the catalogue":  "api",
	"a Dockerfile with every field":              "web",
	"a Dockerfile with defaults":                 "plain",
	"a Dockerfile with a base for each platform": "arch",
	"a Dockerfile whose frontend is an image":    "odd",
}

func vectorFiles(t *testing.T) []file {
	t.Helper()
	return []file{
		{path: FileName, content: `apiVersion: pharos.dev/v1alpha1
kind: Catalogue
images:
- name: web
  build: {dockerfile: {path: web/Dockerfile, target: prod, args: {MODE: dev, VERSION: "1.2"}, secrets: [npm, git], ssh: [default]}}
  inputs: [web]
  platforms: [linux/arm64, linux/amd64]
- name: base
  build: {go: {package: ./services/api, base: "alpine:3"}}
  inputs: [services/api, go.mod]
- name: api
  build: {go: {package: ./services/api, base: base}}
  inputs: [services/api, go.mod]
- name: plain
  build: {dockerfile: {}}
  inputs: [Dockerfile]
- name: arch
  build: {dockerfile: {path: arch/Dockerfile}}
  inputs: [arch]
  platforms: [linux/amd64, linux/arm64]
- name: odd
  build: {dockerfile: {path: Dockerfile, args: {BUILDKIT_SYNTAX: base}}}
  inputs: [Dockerfile]
`},
		{path: "go.mod", content: "module example.org/shop\n\ngo 1.26.0\n\ntoolchain go1.26.8\n"},
		{path: "services/api/main.go", content: "package main\n\nfunc main() {}\n"},
		{path: "Dockerfile", content: "FROM scratch\nCOPY Dockerfile /\n"},
		{path: "arch/Dockerfile", content: "ARG TARGETARCH\nFROM example.org/$TARGETARCH/x\nCOPY --from=alpine:3 /etc/os-release /\n"},
		{path: "web/Dockerfile", content: `# syntax=docker/dockerfile:1
ARG VERSION=1.0
FROM node:24 AS build
RUN npm ci
FROM tools:$VERSION AS t
FROM base AS prod
COPY --from=build /app /app
COPY --from=registry.example.org/tools@` + digestOf("d") + ` /bin/x /bin/
COPY --from=t /t /t
RUN --mount=type=bind,from=node:24,target=/n /n/x
FROM never:1
`},
		locked(t, "alpine:3", digestOf("a"), "node:24", digestOf("b"), "docker/dockerfile:1", digestOf("c"), "tools:1.2", digestOf("e"),
			"example.org/amd64/x", digestOf("f"), "example.org/arm64/x", digestOf("0")),
	}
}

func TestStatesAreVectors(t *testing.T) {
	t.Parallel()
	tree := makeTree(t, vectorFiles(t)...)
	c, err := Load(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	states, err := c.States(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	pinned := map[string]vector{}
	for _, v := range vectors(t) {
		if name := vectorImages[v.Name]; name != "" {
			pinned[name] = v
		}
	}
	for _, s := range states {
		v := pinned[s.Image.Name]
		if diff := cmp.Diff(v.Preimage, s.Preimage); diff != "" || s.Fingerprint != v.Fingerprint {
			t.Errorf("%s: %s, want %s, preimage (-want +got):\n%s", s.Image.Name, s.Fingerprint, v.Fingerprint, diff)
		}
	}
}
