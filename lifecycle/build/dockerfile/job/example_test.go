package job_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile"
	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile/job"
	"github.com/pharos-dev/pharos/lifecycle/registry"
	"github.com/pharos-dev/pharos/lifecycle/transport"
)

// A builder of Dockerfiles whose BuildKit runs in Jobs. A build that needs secrets,
// where no Secret is named that has them, is refused before anything is sent.
func ExampleNew() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	// As this machine sees the Git server; in a checkout, Dir instead of Folder.
	inputs, err := transport.New(transport.Config{URL: "http://localhost:3000/shop.git", Folder: folder})
	if err != nil {
		log.Fatal(err)
	}
	images, err := registry.New(registry.Config{InsecureHosts: []string{"localhost:5000"}})
	if err != nil {
		log.Fatal(err)
	}
	jobs, err := job.New(job.Config{
		REST:      &rest.Config{Host: "https://cluster.example:6443"},
		Namespace: "pharos",
		Target:    "devbox",
		Owner:     "me@laptop",
		Pusher:    inputs,
		GitURL:    "http://git.pharos.svc/shop.git", // as pods see it
		Image:     "moby/buildkit@sha256:1111111111111111111111111111111111111111111111111111111111111111",
		Push:      "localhost:5000/dev",
		Pull:      "registry.pharos.svc:5000/dev",
		Insecure:  true,
		Registry:  images,
		Cache:     job.Cache{Claim: "buildkit", MaxSize: "20GB"},
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := dockerfile.New(dockerfile.Config{Backend: jobs, Registry: images}); err != nil {
		log.Fatal(err)
	}
	_, err = jobs.Solve(context.Background(), dockerfile.Solve{Image: "web", Secrets: []string{"npm"}})
	if lacking, ok := errors.AsType[*dockerfile.NotSuppliedError](err); ok {
		fmt.Println(lacking)
	}
	// Output: the secret npm is declared and not supplied
}
