package main

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// sharing opens the other targets of a tree that push to the same folder of a
// registry, or to one around or within it.
func (s *shared) sharing(ctx context.Context, tree source.Tree, t standard.Target) ([]*lifecycle.Lifecycle, error) {
	targets, err := standard.ReadTargets(ctx, tree)
	if err != nil {
		return nil, err
	}
	var others []*lifecycle.Lifecycle
	for _, other := range targets {
		if other.Name == t.Name || !overlap(other.Registry.Push, t.Registry.Push) {
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
		others = append(others, l)
	}
	return others, nil
}

func overlap(a, b string) bool {
	return strings.HasPrefix(a+"/", b+"/") || strings.HasPrefix(b+"/", a+"/")
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
