package lock_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	fake "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/pharos-dev/pharos/lifecycle/lock"
	"github.com/pharos-dev/pharos/lifecycle/registry"
)

func Example() {
	server := httptest.NewServer(fake.New(fake.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	base, err := name.NewTag(strings.TrimPrefix(server.URL, "http://") + "/base:1")
	if err != nil {
		log.Fatal(err)
	}
	index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{
		Add: empty.Image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}},
	})
	if err := remote.WriteIndex(base, index); err != nil {
		log.Fatal(err)
	}

	images, err := registry.New(registry.Config{InsecureHosts: []string{base.RegistryStr()}})
	if err != nil {
		log.Fatal(err)
	}
	// A program takes the tree of a checkout, by the package worktree.
	tree := newTree("", "", goImage("api", base.String()))
	report, err := lock.Compare(context.Background(), tree, lock.Options{Resolver: images})
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range report.Entries {
		fmt.Println(e.State, strings.TrimPrefix(e.Reference, base.RegistryStr()), e.Images)
	}
	checkout, err := os.MkdirTemp("", "lock-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(checkout)
	changed, err := report.Write(checkout)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("written:", changed)
	// Output:
	// missing /base:1 [api]
	// written: true
}
