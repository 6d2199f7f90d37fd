package lifecycle

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/receipt"
)

// isProvisional says whether an object is applied as a Job that runs once and uses an
// image that has to be built: its name is made of its content, in which zeros stand
// for the image's digest as yet.
func isProvisional(applied receipt.Object, rendered []Object) bool {
	own, _, once := strings.Cut(applied.Name, "-once-")
	return once && applied.Kind == "Job" && slices.ContainsFunc(rendered, func(o Object) bool {
		return o.Kind == "Job" && o.Name != applied.Name && strings.HasPrefix(o.Name, own) &&
			bytes.Contains(o.JSON, []byte(keys.RunOnce)) && bytes.Contains(o.JSON, []byte("@"+notBuiltYet))
	})
}
