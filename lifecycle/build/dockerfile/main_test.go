package dockerfile_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile"
	"github.com/pharos-dev/pharos/lifecycle/registry"
)

// TestMain lets this test binary be another process that tests need: a build that
// is killed.
func TestMain(m *testing.M) {
	switch os.Getenv("PHAROS_TEST_ROLE") {
	case "":
		os.Exit(m.Run())
	case "runner":
		fmt.Fprintln(os.Stderr, runInChild())
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "unknown PHAROS_TEST_ROLE")
		os.Exit(2)
	}
}

// runInChild builds by a runner, and prints what the build prints.
func runInChild() error {
	host := os.Getenv("PHAROS_TEST_REGISTRY")
	images, err := registry.New(registry.Config{Insecure: true})
	if err != nil {
		return err
	}
	backend, err := dockerfile.NewRunner(dockerfile.RunnerConfig{
		AddressConfig: dockerfile.AddressConfig{Address: os.Getenv("PHAROS_TEST_ADDRESS")}, Registry: images, TempDir: os.Getenv("PHAROS_TEST_TEMP"),
	})
	if err != nil {
		return err
	}
	builder, err := dockerfile.New(dockerfile.Config{Backend: backend, Registry: images})
	if err != nil {
		return err
	}
	tree, err := project{
		files: map[string]string{"Dockerfile": os.Getenv("PHAROS_TEST_DOCKERFILE")},
		lock:  map[string]string{host + "/base:1": os.Getenv("PHAROS_TEST_DIGEST")},
	}.tree()
	if err != nil {
		return err
	}
	ctx := context.Background()
	c, err := catalogue.Load(ctx, tree)
	if err != nil {
		return err
	}
	states, err := c.States(ctx, tree)
	if err != nil {
		return err
	}
	_, err = builder.Build(ctx, lifecycle.BuildRequest{State: states[0], Full: tree, Repository: host + "/dev/web", Output: os.Stdout})
	return err
}
