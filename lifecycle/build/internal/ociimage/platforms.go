package ociimage

import (
	"cmp"
	"slices"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/problem"
)

// Platforms reads the platforms of an image: sorted, each once. What cannot be
// built for becomes a problem; what is built is called by its plural, such as
// "Go images".
func Platforms(image catalogue.Image, what string, p *problem.List) []catalogue.Platform {
	var platforms []catalogue.Platform
	for _, name := range image.Platforms {
		parsed, err := catalogue.ParsePlatform(name)
		switch {
		case err != nil:
			p.Add("platform %q %v", name, err)
		case parsed.OS == "windows":
			// An image for Windows is laid out otherwise and needs a base that matches its nodes.
			p.Add("platform %q: %s are not built for Windows", name, what)
		default:
			platforms = append(platforms, parsed)
		}
	}
	if len(image.Platforms) == 0 {
		p.Add("it names no platform")
	}
	slices.SortFunc(platforms, func(p, q catalogue.Platform) int { return cmp.Compare(p.String(), q.String()) })
	return slices.Compact(platforms)
}
