//go:build linux

package node

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"github.com/pharos-dev/pharos/internal/devcluster/internal/state"
)

const (
	containerdSocket = "/run/containerd/containerd.sock"
	dnsReadyAddress  = "127.0.0.1:8181"
	// dnsHealth is where CoreDNS says whether it knows the cluster's Services.
	dnsHealth = "http://" + dnsReadyAddress + "/ready"
)

//go:embed configs
var configs embed.FS

// parts are the node's own programs.
type parts struct {
	folder   *state.Folder
	programs map[string]string
	// pause is the reference of the pause image.
	pause string
}

// writeConfigs fills the configuration files in.
func (p *parts) writeConfigs() error {
	keys, err := p.folder.Keys()
	if err != nil {
		return err
	}
	values := map[string]string{
		"Dir":              p.folder.Path("node"),
		"Registry":         registryAddress,
		"Pause":            p.pause,
		"ContainerdSocket": containerdSocket,
		"CA":               keys.CA,
		"Cert":             keys.ServerCert,
		"Key":              keys.ServerKey,
		"Node":             state.NodeName,
		"Address":          state.NodeAddress,
		"Pods":             state.PodRange,
		"ProxyKubeconfig":  p.folder.Path(state.Proxy.File),
		"DNSKubeconfig":    p.folder.Path(state.DNS.File),
		"Context":          state.ContextName,
		"DNSReady":         dnsReadyAddress,
	}
	all, err := template.New("").Option("missingkey=error").ParseFS(configs, "configs/*")
	if err != nil {
		return err
	}
	for name, path := range map[string]string{
		"containerd.toml": "containerd.toml",
		"hosts.toml":      "certs/" + registryAddress + "/hosts.toml",
		"cni.conflist":    "cni/pods.conflist",
		"kubelet.yaml":    "kubelet.yaml",
		"kube-proxy.yaml": "kube-proxy.yaml",
		"Corefile":        "Corefile",
		"resolv.conf":     "resolv.conf",
	} {
		var text bytes.Buffer
		if err := all.ExecuteTemplate(&text, name, values); err != nil {
			return fmt.Errorf("write the node's configuration: %w", err)
		}
		path = p.path(path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("write the node's configuration: %w", err)
		}
		if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
			return fmt.Errorf("write the node's configuration: %w", err)
		}
	}
	return nil
}

func (p *parts) path(elements ...string) string {
	return p.folder.Path(append([]string{"node"}, elements...)...)
}

func (p *parts) containerd() *program {
	return p.program("containerd", nil, "--config", p.path("containerd.toml"))
}

func (p *parts) kubelet() *program {
	return p.program("kubelet", awaitContainerd,
		"--config", p.path("kubelet.yaml"),
		"--kubeconfig", p.folder.Path(state.Kubelet.File),
		"--hostname-override", state.NodeName,
		"--node-ip", state.NodeAddress,
		"--root-dir", p.path("kubelet"),
	)
}

func (p *parts) kubeProxy() *program {
	return p.program("kube-proxy", nil, "--config", p.path("kube-proxy.yaml"))
}

func (p *parts) coreDNS() *program {
	return p.program("coredns", nil, "-conf", p.path("Corefile"))
}

// awaitContainerd waits until containerd accepts connections.
func awaitContainerd(ctx context.Context) error {
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	var dialer net.Dialer
	for {
		conn, err := dialer.DialContext(ctx, "unix", containerdSocket)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// program is one of the programs. It is started once before, if given, has returned.
func (p *parts) program(name string, before func(context.Context) error, args ...string) *program {
	return &program{
		name: name, path: p.programs[name], args: args, before: before, folder: p.folder,
		// containerd looks for its shim, and the shim for runc, in PATH; kubelet and kube-proxy look there for nft and the like.
		env: append(os.Environ(), "PATH="+strings.Join([]string{
			filepath.Dir(p.programs["containerd-shim-runc-v2"]), "/usr/sbin", "/usr/bin", "/sbin", "/bin"}, ":")),
	}
}
