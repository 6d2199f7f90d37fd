package job

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	spb "github.com/moby/buildkit/sourcepolicy/pb"

	"github.com/pharos-dev/pharos/lifecycle/build/dockerfile"
)

const imageScheme = "docker-image://"

// pulled gives a reference the form in which pods see it. If the names of
// repositories end alike here and there, "localhost:5000/dev" and
// "registry.svc:5000/dev", the hosts are one registry, and all else in it is seen so
// too, such as a base beside the target's images.
func (b *Backend) pulled(reference string) string {
	if b.config.Push == "" {
		return reference
	}
	push, pushPath, _ := strings.Cut(b.config.Push, "/")
	pull, pullPath, _ := strings.Cut(b.config.Pull, "/")
	if pushPath != pullPath {
		push, pull = b.config.Push, b.config.Pull
	}
	if rest, is := strings.CutPrefix(reference, push+"/"); is {
		return pull + "/" + rest
	}
	return reference
}

// here is a Solve as pods see it. What a Dockerfile names stays as it is written; what
// stands for that is named as pods see it.
func (b *Backend) here(s dockerfile.Solve) (dockerfile.Solve, error) {
	s.Repository, s.Frontend = b.pulled(s.Repository), b.pulled(s.Frontend)
	s.Options = maps.Clone(s.Options)
	for key, value := range s.Options {
		if strings.HasPrefix(key, "context:") {
			s.Options[key] = b.pulledImage(value)
		}
	}
	policy := &spb.Policy{}
	err := json.Unmarshal(s.Policy, policy)
	if err == nil {
		for _, rule := range policy.Rules {
			if rule.Updates != nil {
				rule.Updates.Identifier = b.pulledImage(rule.Updates.Identifier)
			}
		}
		s.Policy, err = json.Marshal(policy)
	}
	if err != nil {
		return dockerfile.Solve{}, fmt.Errorf("read the source policy: %w", err)
	}
	return s, nil
}

// pulledImage is pulled for what BuildKit calls an image.
func (b *Backend) pulledImage(identifier string) string {
	if reference, is := strings.CutPrefix(identifier, imageScheme); is {
		return imageScheme + b.pulled(reference)
	}
	return identifier
}

// host is the registry of a repository's name.
func host(repository string) string {
	host, _, _ := strings.Cut(repository, "/")
	return host
}
