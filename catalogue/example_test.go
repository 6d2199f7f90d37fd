package catalogue_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
)

const pharosYAML = `
apiVersion: pharos.dev/v1alpha1
kind: Catalogue
images:
- name: site
  build: {files: {from: site/public, root: /srv}}
  inputs: [site/public/**]
delivery: [gitops/**]
neutral: ["**/*.md"]
`

// tree makes a small repository's tree; a program reads a commit's with
// source.Open instead.
func tree(page string) source.Tree {
	t, err := source.FromFiles(map[string]source.File{
		"pharos.yaml":                  {Content: pharosYAML},
		"README.md":                    {Content: "About the page " + page},
		"site/public/index.html":       {Content: page},
		"gitops/site/deployment.yaml":  {Content: "kind: Deployment\n"},
		"gitops/kustomization.yaml":    {Content: "resources: [site/deployment.yaml]\n"},
		"scripts/" + page[:1] + "ello": {Content: "#!/bin/sh\n", Mode: source.ModeExecutable},
	})
	if err != nil {
		log.Fatal(err)
	}
	return t
}

// The fingerprint is the one that the package comment computes by hand.
func ExampleCatalogue_States() {
	ctx := context.Background()
	t := tree("hello\n")
	c, err := catalogue.Load(ctx, t)
	if err != nil {
		log.Fatal(err)
	}
	states, err := c.States(ctx, t)
	for _, failed := range catalogue.FailedImages(err) {
		fmt.Println(failed)
	}
	for _, s := range states {
		fmt.Println(s.Image.Name, s.Files, "file")
		fmt.Println("tree", s.Inputs.ID)
		fmt.Println(s.Fingerprint)
	}
	// Output:
	// site 1 file
	// tree a434734c0a228260e7f7c77aa2ffa3b605898cc0
	// sha256:4ff76974d701a52dd132c1ee679d5946ae90096594b7e2b166e802498ae7e23d
}

func ExampleClassify() {
	rendered := []string{"gitops/kustomization.yaml", "gitops/site/deployment.yaml"}
	changes, err := catalogue.Classify(context.Background(), tree("hello\n"), tree("jello\n"), rendered)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range changes {
		fmt.Println(c.Path, c.Class, c.Images)
	}
	// Output:
	// README.md neutral []
	// scripts/hello unknown []
	// scripts/jello unknown []
	// site/public/index.html build [site]
}

func ExampleParsePatterns() {
	p, err := catalogue.ParsePatterns([]string{"services/api", "libs/**", "!**/*_test.go"})
	if err != nil {
		log.Fatal(err)
	}
	for _, path := range []string{"services/api/main.go", "services/api/main_test.go", "services/web/main.go"} {
		fmt.Println(path, p.Match(path))
	}
	fmt.Println(p.Dir("services/web"))

	_, err = catalogue.ParsePatterns([]string{"/libs", "a/**.go"})
	fmt.Println(err)
	// Output:
	// services/api/main.go true
	// services/api/main_test.go false
	// services/web/main.go false
	// none inside
	// pattern 0, "/libs": it begins with a slash; patterns start at the root of the tree anyway: remove the slash
	// pattern 1, "a/**.go": ** must be a whole segment, as in **/*.go
}

func ExamplePrune() {
	ctx := context.Background()
	p, err := catalogue.ParsePatterns([]string{"gitops", "!gitops/kustomization.yaml"})
	if err != nil {
		log.Fatal(err)
	}
	pruned, files, err := catalogue.Prune(ctx, tree("hello\n"), p)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(files, "file")
	err = pruned.Walk(ctx, func(path string, e source.Entry) error {
		fmt.Printf("%06o %s\n", uint32(e.Mode), path)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 1 file
	// 040000 gitops
	// 040000 gitops/site
	// 100644 gitops/site/deployment.yaml
}

func ExampleComputeFingerprint() {
	f, err := catalogue.ComputeFingerprint([]catalogue.Field{{Key: "b", Value: "2"}, {Key: "a", Value: "1"}})
	fmt.Println(f, err)
	// Output: sha256:3fb4acc34502d503c409224541c7a1ea5e26b7a6fcbcd11fe7a4100848045a14 <nil>
}

const dockerYAML = `
apiVersion: pharos.dev/v1alpha1
kind: Catalogue
images:
- name: base
  build: {dockerfile: {path: base/Dockerfile}}
  inputs: [base]
- name: web
  build: {dockerfile: {path: web/Dockerfile}}
  inputs: [web]
`

func dockerTree(lock string) source.Tree {
	t, err := source.FromFiles(map[string]source.File{
		"pharos.yaml":     {Content: dockerYAML},
		"pharos.lock":     {Content: lock},
		"base/Dockerfile": {Content: "FROM alpine:3\n"},
		"web/Dockerfile":  {Content: "# syntax=docker/dockerfile:1\nFROM alpine:3 AS build\nFROM base\nCOPY --from=build /a /a\n"},
	})
	if err != nil {
		log.Fatal(err)
	}
	return t
}

// A program that locks references asks a registry for each of them, writes the
// lock, and has it committed.
func ExampleCatalogue_References() {
	ctx := context.Background()
	t := dockerTree("{apiVersion: pharos.dev/v1alpha1, kind: Lock, images: {}}")
	c, err := catalogue.Load(ctx, t)
	if err != nil {
		log.Fatal(err)
	}
	_, err = c.States(ctx, t)
	fmt.Println(err)
	references, err := c.References(ctx, t)
	if err != nil {
		log.Fatal(err)
	}
	lock := catalogue.Lock{Images: map[string]string{}}
	for i, r := range references {
		fmt.Println(r.Reference, r.Images)
		lock.Images[r.Reference] = "sha256:" + strings.Repeat(fmt.Sprint(i), 64)
	}
	written, err := lock.Marshal()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", written)
	states, err := c.States(ctx, dockerTree(string(written)))
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range states {
		fmt.Println(s.Image.Name, "is built on", s.Dependencies, len(s.Bases), "base")
		if s.Frontend != "" {
			fmt.Println("  by", s.Frontend)
		}
	}
	// Output:
	// image base: is built on alpine:3, whose digest is in neither the recipe nor pharos.lock: run kubectl pharos lock and commit pharos.lock
	// image web: is built on alpine:3, docker/dockerfile:1, whose digest is in neither the recipe nor pharos.lock: run kubectl pharos lock and commit pharos.lock
	// image web: is built on base, of which there is no fingerprint: correct what is wrong there first
	// alpine:3 [base web]
	// docker/dockerfile:1 [web]
	// # Written by kubectl pharos lock; commit it. It says which image each tag stands for.
	// apiVersion: pharos.dev/v1alpha1
	// kind: Lock
	// images:
	//   "alpine:3": "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	//   "docker/dockerfile:1": "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	// base is built on [] 1 base
	// web is built on [base] 1 base
	//   by docker/dockerfile:1@sha256:1111111111111111111111111111111111111111111111111111111111111111
}

func ExampleParseLock() {
	_, err := catalogue.ParseLock("pharos.lock", []byte("apiVersion: pharos.dev/v1alpha1\nkind: Lock\nimages:\n  alpine:3: latest\n  A B: x\n"))
	fmt.Println(err)
	// Output:
	// pharos.lock:4:13: images["alpine:3"]: is "latest", and must be "sha256:" and 64 lower-case hexadecimal digits
	// pharos.lock:5:8: images["A B"]: is no reference of an image
}

func ExampleCheck() {
	t, err := source.FromFiles(map[string]source.File{
		"pharos.yaml": {Content: pharosYAML}, "site/public/index.html": {Content: "hello\n"}, "README.md": {},
	})
	if err != nil {
		log.Fatal(err)
	}
	findings, err := catalogue.Check(context.Background(), t)
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range findings {
		fmt.Println(f)
	}
	// Output: delivery: "gitops/**" matches no file: correct it, or remove it
}
