package registry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"strings"

	fake "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/registry"
)

func Example() {
	server := httptest.NewServer(fake.New(fake.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	repository := strings.TrimPrefix(server.URL, "http://") + "/shop/api"

	r, err := registry.New(registry.Config{Insecure: true})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	fingerprint := catalogue.Fingerprint("sha256:" + strings.Repeat("5", 64))
	_, err = r.Find(ctx, repository, fingerprint)
	fmt.Println("nothing yet:", errors.Is(err, lifecycle.ErrImageNotFound))

	index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{
		Add: empty.Image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}},
	})
	digest, err := r.Push(ctx, repository, index, fingerprint)
	if err != nil {
		log.Fatal(err)
	}
	found, err := r.Find(ctx, repository, fingerprint)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("found:", found.Digest == digest, found.Platforms)
	// Output:
	// nothing yet: true
	// found: true [linux/amd64]
}
