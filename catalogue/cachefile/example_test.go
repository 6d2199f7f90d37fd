package cachefile_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/cachefile"
	"github.com/pharos-dev/pharos/catalogue/source"
)

// The second call, in another process most of the time, reads the root of the tree
// and pharos.yaml, and nothing else.
func Example() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	tree := commit()
	for range 2 {
		cache := cachefile.Open(cachefile.Config{Path: filepath.Join(dir, "pharos", "fingerprints")})
		c, err := catalogue.Load(context.Background(), tree)
		if err != nil {
			log.Fatal(err)
		}
		states, err := c.States(context.Background(), catalogue.Cached(tree, cache))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(states[0].Image.Name, states[0].Fingerprint)
		if err := cache.Save(); err != nil {
			log.Print(err) // at worst it is computed again
		}
	}
	// Output:
	// site sha256:6f84e16c8490bb0214cd2b6217b27b026d592d445cae63f583a118b8e6741da0
	// site sha256:6f84e16c8490bb0214cd2b6217b27b026d592d445cae63f583a118b8e6741da0
}

// commit stands for the tree of a commit of a repository.
func commit() source.Tree {
	objects := source.NewMemory()
	page := source.Entry{Name: "index.html", Mode: source.ModeFile, ID: objects.PutBlob([]byte("hello"))}
	site, err := objects.PutTree([]source.Entry{page})
	if err != nil {
		log.Fatal(err)
	}
	yaml := objects.PutBlob([]byte(`apiVersion: pharos.dev/v1alpha1
kind: Catalogue
images:
- name: site
  build: {files: {from: site}}
  inputs: [site]
`))
	root, err := objects.PutTree([]source.Entry{
		{Name: "pharos.yaml", Mode: source.ModeFile, ID: yaml},
		{Name: "site", Mode: source.ModeDir, ID: site},
	})
	if err != nil {
		log.Fatal(err)
	}
	return source.Tree{ID: root, Objects: objects}
}
