package devenv

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/pharos-dev/pharos/internal/devenv/peers"
)

// argoCDModule is the module of Argo CD.
const argoCDModule = "github.com/argoproj/argo-cd/v3"

// ArgoCDProgram builds the program that is all of Argo CD that [StartArgoCD] runs, as [Build] builds the cluster, and returns
// its path.
func ArgoCDProgram(ctx context.Context, out io.Writer) (string, error) {
	dir, err := argoCDDir(ctx)
	if err != nil {
		return "", err
	}
	version, err := goList(ctx, dir, argoCDModule, "{{.Version}}")
	if err != nil {
		return "", fmt.Errorf("find the version of Argo CD: %w", err)
	}
	return peers.Binary(ctx, peers.Program{
		Name: "argocd", ModuleDir: dir, Package: ".",
		LDFlags: []string{"-X=" + argoCDModule + "/common.version=" + strings.TrimPrefix(version, "v")},
	}, out)
}

// argoCDDir is the folder of the nested module.
func argoCDDir(ctx context.Context) (string, error) {
	root, err := ModuleRoot(ctx)
	if err != nil {
		return "", err
	}
	return filepath.Join(root, "internal", "devcluster", "argocd"), nil
}

// argoCDManifests is the folder of Argo CD's own manifests, in the module that the build has downloaded.
func argoCDManifests(ctx context.Context) (string, error) {
	dir, err := argoCDDir(ctx)
	if err != nil {
		return "", err
	}
	source, err := goList(ctx, dir, argoCDModule, "{{.Dir}}")
	if err != nil {
		return "", fmt.Errorf("find the manifests of Argo CD: %w", err)
	}
	if source == "" {
		return "", fmt.Errorf("find the manifests of Argo CD: the source of %s is not on this machine: run go mod download in %s", argoCDModule, dir)
	}
	return filepath.Join(source, "manifests"), nil
}
