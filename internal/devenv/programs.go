package devenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pharos-dev/pharos/internal/devenv/peers"
)

// mainModule is the module next to which the nested module of the cluster lies.
const mainModule = "github.com/pharos-dev/pharos"

// Build builds the cluster's program where this version of it is not built yet, and returns its path. Lines of
// progress go to out; nil discards them. It fails where the current folder belongs to no Go module that is or
// requires Pharos, or with a *[peers.BuildError].
func Build(ctx context.Context, out io.Writer) (string, error) {
	dir, version, err := clusterModule(ctx)
	if err != nil {
		return "", err
	}
	return peers.Binary(ctx, peers.Program{
		Name:      "devcluster",
		ModuleDir: dir,
		Package:   ".",
		LDFlags:   versionFlags(version),
	}, out)
}

// Kubectl builds the kubectl of the cluster's own Kubernetes version as [Build] builds the cluster, and returns its path.
func Kubectl(ctx context.Context, out io.Writer) (string, error) {
	dir, version, err := clusterModule(ctx)
	if err != nil {
		return "", err
	}
	return peers.Binary(ctx, peers.Program{
		Name:      "kubectl",
		ModuleDir: dir,
		Package:   "k8s.io/kubernetes/cmd/kubectl",
		LDFlags:   versionFlags(version),
	}, out)
}

// ModuleRoot is the folder of Pharos' own go.mod, seen from the current folder.
func ModuleRoot(ctx context.Context) (string, error) {
	dir, err := goList(ctx, "", mainModule, "{{.Dir}}")
	if err != nil {
		return "", err
	}
	if dir == "" {
		return "", errors.New("find the source of " + mainModule + ": it is not on this machine; run this from a checkout")
	}
	return dir, nil
}

// clusterModule finds the nested module and the version of Kubernetes that it requires.
func clusterModule(ctx context.Context) (dir, version string, err error) {
	root, err := ModuleRoot(ctx)
	if err != nil {
		return "", "", err
	}
	dir = filepath.Join(root, "internal", "devcluster")
	version, err = goList(ctx, dir, "k8s.io/kubernetes", "{{.Version}}")
	return dir, version, err
}

func goList(ctx context.Context, dir, module, format string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", format, module)
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go list -m %s: %w: %s", module, err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}

var majorMinor = regexp.MustCompile(`^v(\d+)\.(\d+)\.`)

// versionFlags are the linker flags without which a Kubernetes program does not know its own version, and clients that
// compare versions fail on it.
func versionFlags(version string) []string {
	const pkg = "k8s.io/component-base/version."
	flags := []string{"-X=" + pkg + "gitVersion=" + version}
	if m := majorMinor.FindStringSubmatch(version); m != nil {
		flags = append(flags, "-X="+pkg+"gitMajor="+m[1], "-X="+pkg+"gitMinor="+m[2])
	}
	return flags
}
