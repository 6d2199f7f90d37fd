package catalogue_test

import (
	"context"
	"fmt"
	"log"

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
