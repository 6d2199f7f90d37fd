package dockerfile

import (
	"maps"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
)

// Undeclared returns which of the build arguments no instruction declares, sorted:
// they change nothing in the image, unless a base's ONBUILD declares them. What
// BuildKit itself takes needs no declaration, and a frontend other than Docker's
// may take what it likes.
func (f *File) Undeclared(args map[string]string) []string {
	if !isDockers(f.Frontend) {
		return nil
	}
	stages, globals, err := f.instructions()
	if err != nil {
		return nil // Parse has had them
	}
	declared := map[string]bool{}
	declare := func(c *instructions.ArgCommand) {
		for _, a := range c.Args {
			declared[a.Key] = true
		}
	}
	for i := range globals {
		declare(&globals[i])
	}
	for _, s := range stages {
		for _, c := range s.Commands {
			switch c := c.(type) {
			case *instructions.ArgCommand:
				declare(c)
			case *instructions.OnbuildCommand:
				// It may have several; what else it has does no harm.
				for word := range strings.FieldsSeq(c.Expression) {
					name, _, _ := strings.Cut(word, "=")
					declared[name] = true
				}
			}
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(args)), func(name string) bool {
		return declared[name] || predefined.MatchString(name)
	})
}

// predefined are the arguments that BuildKit takes although nothing declares them: the
// proxies, the platforms, which FROM may use, and its own settings
// (https://docs.docker.com/reference/dockerfile/#predefined-args).
var predefined = lazyregexp.New(`^(?:(?i:(?:https?|ftp|no|all)_proxy)|(?:BUILD|TARGET)(?:PLATFORM|OS|OSVERSION|ARCH|VARIANT)|TARGETSTAGE|SOURCE_DATE_EPOCH|BUILDKIT_[A-Z_]+)$`)
