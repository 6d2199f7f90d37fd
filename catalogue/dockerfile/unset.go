package dockerfile

import (
	"slices"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
)

// Unset returns the names of the build arguments that ARG declares and nothing
// gives a value unless the recipe does, in the order of the file, each once. What
// BuildKit sets by itself is not among them.
func (f *File) Unset() []string {
	stages, globals, err := f.instructions()
	if err != nil {
		return nil // Parse has had them
	}
	set := map[string]bool{}
	var names []string
	declare := func(c *instructions.ArgCommand, global bool) {
		for _, a := range c.Args {
			switch {
			case a.Value != nil:
				set[a.Key] = set[a.Key] || global
			case !set[a.Key] && !predefined.MatchString(a.Key) && !slices.Contains(names, a.Key):
				names = append(names, a.Key)
			}
		}
	}
	for i := range globals {
		declare(&globals[i], true)
	}
	for _, s := range stages {
		for _, c := range s.Commands {
			if c, ok := c.(*instructions.ArgCommand); ok {
				declare(c, false)
			}
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return set[name] })
}
