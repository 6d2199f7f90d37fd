package main

import (
	"fmt"
	"strings"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// countedTarget is a target whose receipts say which images are used, and where
// they are.
type countedTarget struct {
	name, context, server string
	push                  string
	// named says that pharos.yaml or a flag names the cluster, so that it does not
	// depend on whose kubeconfig is read.
	named bool
}

// count notes where a target's receipts are, once it is open.
func (s *shared) count(t standard.Target) countedTarget {
	c := countedTarget{name: t.Name, context: *s.config.Context, push: t.Registry.Push}
	c.named = c.context != "" || *s.config.KubeConfig != "" || *s.config.APIServer != ""
	if raw, err := s.config.ToRawKubeConfigLoader().RawConfig(); err == nil && c.context == "" {
		c.context = raw.CurrentContext
	}
	if cfg, err := s.config.ToRESTConfig(); err == nil {
		c.server = cfg.Host
	}
	return c
}

func (c countedTarget) String() string {
	return fmt.Sprintf("of target %q in context %q (%s)", c.name, c.context, c.server)
}

// sayCounted says whose receipts counted: nobody else's did.
func (s *shared) sayCounted() {
	words := make([]string, len(s.counted))
	for i, c := range s.counted {
		words[i] = c.String()
	}
	linef(s.ErrOut, "only these receipts count: those %s", strings.Join(words, ", "))
}

// checkCounted refuses to delete all that looks unused where each person's
// kubeconfig may lead to another cluster and all of them to the same registry.
func (s *shared) checkCounted(r lifecycle.DeleteImagesRequest) error {
	if !r.Unused || r.DryRun {
		return nil
	}
	for _, c := range s.counted {
		if c.named || strings.HasPrefix(folderOf(c.push), "localhost:") {
			continue
		}
		return &lifecycle.BlockedError{
			Reason: fmt.Sprintf("nothing says which cluster target %q is in, so it may be one for each person, and only the receipts of context %q are known of all that pull from %s", c.name, c.context, c.push),
			Next:   fmt.Sprintf("If no other cluster does, say so: --context %s, or spec.context in pharos.yaml. Else give each a folder of the registry of its own, or delete images by their digests", c.context),
		}
	}
	return nil
}
