package main

import (
	"context"
	"fmt"
	"net"
	"strings"

	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// sharing opens the other targets of a tree that push to or pull from the same
// folder of a registry, or one around or within it.
func (s *shared) sharing(ctx context.Context, tree source.Tree, t standard.Target) ([]*lifecycle.Lifecycle, error) {
	targets, err := standard.ReadTargets(ctx, tree)
	if err != nil {
		return nil, err
	}
	var others []*lifecycle.Lifecycle
	for _, other := range targets {
		if other.Name == t.Name || !overlap(other.Registry, t.Registry) {
			continue
		}
		at, err := s.at(t, other)
		var l *lifecycle.Lifecycle
		if err == nil {
			l, err = at.lifecycle(other)
		}
		if err != nil {
			return nil, fmt.Errorf("target %q keeps its images in the same folder of the registry, so its receipts count: %w", other.Name, err)
		}
		others, s.counted = append(others, l), append(s.counted, at.count(other))
	}
	return others, nil
}

// overlap says whether two targets may have images in the same folder: a registry
// has one address for those who push, and another for those who pull.
func overlap(a, b standard.Registry) bool {
	for _, one := range []string{a.Push, a.Pull} {
		for _, other := range []string{b.Push, b.Pull} {
			one, other := folderOf(one)+"/", folderOf(other)+"/"
			if strings.HasPrefix(one, other) || strings.HasPrefix(other, one) {
				return true
			}
		}
	}
	return false
}

// folderOf is a folder of a registry in the one spelling for all names of its host
// that mean the same everywhere. That two names of DNS do is not known here.
func folderOf(prefix string) string {
	host, path, _ := strings.Cut(prefix, "/")
	host = strings.ToLower(host)
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.Trim(host, "[]"), ""
	}
	name = strings.TrimSuffix(name, ".")
	if ip := net.ParseIP(name); name == "localhost" || strings.HasSuffix(name, ".localhost") || ip != nil && (ip.IsLoopback() || ip.IsUnspecified()) {
		name = "localhost"
	} else if ip != nil {
		name = ip.String()
	}
	switch name {
	case "index.docker.io", "registry-1.docker.io", "registry.hub.docker.com":
		name = "docker.io"
	}
	// Both default ports are one: whether a registry without a port speaks TLS is
	// found out by asking.
	if port == "443" || port == "80" {
		port = ""
	}
	return strings.TrimSuffix(name+":"+port+"/"+path, "/")
}

// at connects to another target than the one that the flags are about: as they say
// if both are in the same cluster, else by the kubeconfig alone.
func (s *shared) at(t, other standard.Target) (*shared, error) {
	flag := *s.config.Context
	switch {
	case flag == "" && other.Context == t.Context, flag != "" && other.Context == flag:
		return s, nil
	case flag != "" && other.Context == "":
		return nil, fmt.Errorf("with --context it is not known where they are: write the context of target %q in pharos.yaml", other.Name)
	}
	config := genericclioptions.NewConfigFlags(true)
	*config.Context = other.Context
	config.KubeConfig = s.config.KubeConfig
	config.Impersonate, config.ImpersonateUID, config.ImpersonateGroup = s.config.Impersonate, s.config.ImpersonateUID, s.config.ImpersonateGroup
	config.Timeout = s.config.Timeout
	return &shared{IOStreams: s.IOStreams, config: config, repo: s.repo}, nil
}
