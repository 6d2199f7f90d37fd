package build_test

import (
	"context"
	"fmt"
	"time"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build"
)

// compiler stands for a builder, such as golang.New returns.
type compiler struct{}

func (compiler) Build(_ context.Context, r lifecycle.BuildRequest) (lifecycle.BuildResult, error) {
	fmt.Println("building", r.State.Image.Name)
	return lifecycle.BuildResult{Digest: "sha256:…", Platforms: r.State.Image.Platforms}, nil
}

// complete stands for a registry that has all that was pushed to it.
type complete struct{}

func (complete) Verify(_ context.Context, repository string, digest lifecycle.Digest) (lifecycle.RegistryImage, error) {
	fmt.Println("the registry has", repository)
	return lifecycle.RegistryImage{Digest: digest}, nil
}

var image = lifecycle.BuildRequest{
	Repository: "localhost:5000/dev/api",
	State: catalogue.State{
		Fingerprint: "sha256:…",
		Image:       catalogue.Image{Name: "api", Build: catalogue.Build{Go: &catalogue.GoBuild{Package: "."}}},
	},
}

// Around a builder: what was built is not built again, four builds run at once,
// and each is reported.
func Example() {
	ctx := context.Background()
	var builder lifecycle.Builder = compiler{}
	builder = build.Record(builder, time.Now, func(e build.Event) { fmt.Println(e.Type, e.Image) })
	builder = build.Limit(builder, 4)
	builder = build.Cache(builder, complete{})
	for range 2 {
		if _, err := builder.Build(ctx, image); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// build-began api
	// building api
	// build-ended api
	// the registry has localhost:5000/dev/api
}

// One build at a time.
func ExampleLimit() {
	builder := build.Limit(compiler{}, 1)
	_, err := builder.Build(context.Background(), image)
	fmt.Println(err)
	// Output:
	// building api
	// <nil>
}

// How long builds take, by a clock of the caller's.
func ExampleRecord() {
	clock := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	now := func() time.Time { clock = clock.Add(3 * time.Second); return clock }
	builder := build.Record(compiler{}, now, func(e build.Event) {
		if e.Type == build.EventEnded {
			fmt.Println(e.Kind, e.Image, "took", e.Took)
		}
	})
	if _, err := builder.Build(context.Background(), image); err != nil {
		fmt.Println(err)
	}
	// Output:
	// building api
	// go api took 3s
}

// The registry is asked whenever something is not built again.
func ExampleCache() {
	builder := build.Cache(compiler{}, complete{})
	for range 2 {
		if _, err := builder.Build(context.Background(), image); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// building api
	// the registry has localhost:5000/dev/api
}
