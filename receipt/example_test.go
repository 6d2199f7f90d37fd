package receipt_test

import (
	"fmt"

	"github.com/pharos-dev/pharos/receipt"
)

// A record is checked against the ID that it was asked for by.
func ExampleParse() {
	data, err := receipt.Record{
		APIVersion: receipt.APIVersion,
		Kind:       receipt.Kind,
		Target:     receipt.Target{Name: "devbox", ClusterUID: "8f6a2a4e-3c1b-4a53-9d5e-0c8f3f1f2b10"},
		Commit:     "1111111111111111111111111111111111111111",
		Tree:       "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
		Catalogue:  "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		Renderer:   receipt.Renderer{Name: "kustomize", Version: "v0.21.2"},
	}.Canonical()
	if err != nil {
		fmt.Println(err)
		return
	}
	r, id, err := receipt.Parse(data)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(id.Short(), "delivers", r.Commit[:7], "to", r.Target.Name)
	// Output: 60bdb12d647d delivers 1111111 to devbox
}

// All that is wrong is reported together.
func ExampleRecord_Validate() {
	r := receipt.Record{
		APIVersion: receipt.APIVersion,
		Kind:       receipt.Kind,
		Target:     receipt.Target{Name: "devbox", ClusterUID: "8f6a2a4e-3c1b-4a53-9d5e-0c8f3f1f2b10"},
		Commit:     "main",
		Tree:       "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
		Catalogue:  "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		Renderer:   receipt.Renderer{Name: "kustomize"},
	}
	fmt.Println(r.Validate())
	// Output:
	// invalid receipt: record:
	//   commit: "main" is not a Git object ID of 40 or 64 lower-case hexadecimal digits
	//   renderer.version: is missing
}

// Records are compared by what they deliver.
func ExampleDiff() {
	old := receipt.Record{Commit: "1111111111111111111111111111111111111111", Images: []receipt.Image{{Name: "web", Digest: "sha256:aa", Preimage: []receipt.Field{{Key: "builder", Value: "go/1"}}}}}
	new := receipt.Record{Commit: "2222222222222222222222222222222222222222", Images: []receipt.Image{{Name: "web", Digest: "sha256:bb", Preimage: []receipt.Field{{Key: "builder", Value: "go/2"}}}}}
	d := receipt.Diff(old, new)
	for _, f := range d.Fields {
		fmt.Println(f.Field, f.Old[:7], "->", f.New[:7])
	}
	for _, i := range d.Images {
		fmt.Println(i.Type, i.Name, i.Inputs[0].Field, i.Inputs[0].Old, "->", i.Inputs[0].New)
	}
	// Output:
	// commit 1111111 -> 2222222
	// changed web builder go/1 -> go/2
}
