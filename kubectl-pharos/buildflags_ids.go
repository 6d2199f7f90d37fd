package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// unheeded says of what the flags name that no build will take it: nothing
// declares it, as an earlier commit may not yet. Jobs, which have their own, refuse
// the flags themselves.
func unheeded(o standard.Options, images []catalogue.Image) []string {
	var secrets, agents []string
	for _, img := range images {
		if b := img.Build.Dockerfile; b != nil {
			secrets, agents = append(secrets, b.Secrets...), append(agents, b.SSH...)
		}
	}
	var said []string
	say := func(flag, field string, given, declared []string) {
		for _, id := range given {
			near := nearest(id, declared)
			switch {
			case !slices.Contains(declared, id) && len(near) > 0:
				said = append(said, fmt.Sprintf("%s %s: no image declares it; did you mean %s?", flag, id, near[0]))
			case !slices.Contains(declared, id):
				said = append(said, fmt.Sprintf("%s %s: no image declares it under build.dockerfile.%s", flag, id, field))
			}
		}
	}
	say("--secret", "secrets", slices.Sorted(maps.Keys(o.Secrets)), secrets)
	say("--ssh", "ssh", slices.Sorted(maps.Keys(o.SSH)), agents)
	return said
}
