package devenv

import (
	"context"
	"io"
	"path/filepath"

	"github.com/pharos-dev/pharos/internal/devenv/peers"
)

// NodePrograms builds the programs of a real node as [Build] builds the cluster, and returns their paths by name.
func NodePrograms(ctx context.Context, out io.Writer) (map[string]string, error) {
	dir, version, err := clusterModule(ctx)
	if err != nil {
		return nil, err
	}
	containerd := filepath.Join(dir, "containerd")
	withoutC := []string{"CGO_ENABLED=0"}
	// Without snapshotters that need C or devices, and without a collector of traces.
	tags := []string{"no_btrfs", "no_devmapper", "no_zfs", "no_tracing"}
	paths := map[string]string{}
	for _, p := range []peers.Program{
		{Name: "kubelet", ModuleDir: dir, Package: "k8s.io/kubernetes/cmd/kubelet", LDFlags: versionFlags(version)},
		{Name: "kube-proxy", ModuleDir: dir, Package: "k8s.io/kubernetes/cmd/kube-proxy", LDFlags: versionFlags(version)},
		{Name: "coredns", ModuleDir: dir, Package: "./dns"},
		{Name: "containerd", ModuleDir: containerd, Package: "github.com/containerd/containerd/v2/cmd/containerd", Tags: tags, Env: withoutC},
		{Name: "containerd-shim-runc-v2", ModuleDir: containerd, Package: "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2", Tags: tags, Env: withoutC},
		{Name: "pause", ModuleDir: dir, Package: "./pause", Env: withoutC},
	} {
		if paths[p.Name], err = peers.Binary(ctx, p, out); err != nil {
			return nil, err
		}
	}
	return paths, nil
}
