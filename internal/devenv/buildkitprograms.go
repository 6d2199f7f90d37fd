package devenv

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/pharos-dev/pharos/internal/devenv/peers"
)

// buildKitModule is the module that the programs of BuildKit are of.
const buildKitModule = "github.com/moby/buildkit"

// BuildKitPrograms builds BuildKit's daemon and its client as [Build] builds the cluster, and returns their paths.
func BuildKitPrograms(ctx context.Context, out io.Writer) (buildkitd, buildctl string, err error) {
	if buildkitd, err = buildKitProgram(ctx, "buildkitd", buildKitModule+"/cmd/buildkitd", out); err != nil {
		return "", "", err
	}
	buildctl, err = buildKitProgram(ctx, "buildctl", buildKitModule+"/cmd/buildctl", out)
	return buildkitd, buildctl, err
}

// DockerfileFrontend builds the program that an image named by a Dockerfile's syntax line runs, and returns its path.
func DockerfileFrontend(ctx context.Context, out io.Writer) (string, error) {
	return buildKitProgram(ctx, "dockerfile-frontend", buildKitModule+"/frontend/dockerfile/cmd/dockerfile-frontend", out)
}

func buildKitProgram(ctx context.Context, name, pkg string, out io.Writer) (string, error) {
	root, err := ModuleRoot(ctx)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, "internal", "devcluster", "buildkit")
	version, err := goList(ctx, dir, buildKitModule, "{{.Version}}")
	if err != nil {
		return "", fmt.Errorf("find the version of BuildKit: %w", err)
	}
	return peers.Binary(ctx, peers.Program{
		Name: name, ModuleDir: dir, Package: pkg,
		LDFlags: []string{"-X=" + buildKitModule + "/version.Version=" + version},
		Env:     []string{"CGO_ENABLED=0"},
	}, out)
}
