package dir_test

import (
	"context"
	"fmt"
	"os"

	"github.com/pharos-dev/pharos/receipt"
	"github.com/pharos-dev/pharos/receipt/dir"
)

func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "receipts")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)

	store, err := dir.New(dir.Config{Dir: folder, Target: "devbox"})
	if err != nil {
		fmt.Println(err)
		return
	}
	id, err := store.Put(ctx, receipt.Record{
		APIVersion: receipt.APIVersion,
		Kind:       receipt.Kind,
		Target:     receipt.Target{Name: "devbox", ClusterUID: "8f6a2a4e-3c1b-4a53-9d5e-0c8f3f1f2b10"},
		Commit:     "1111111111111111111111111111111111111111",
		Tree:       "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
		Catalogue:  "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		Renderer:   receipt.Renderer{Name: "kustomize", Version: "v0.21.2"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	pointers, err := store.SetPointers(ctx, receipt.Pointers{}, receipt.Pointers{Applied: id})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("applied:", pointers.Applied.Short())

	// Somebody who read the pointers before that is told so.
	_, err = store.SetPointers(ctx, receipt.Pointers{}, receipt.Pointers{Applied: id, Live: id})
	fmt.Println(err)
	// Output:
	// applied: 60bdb12d647d
	// pointers were moved by somebody else
}
