package golang

import (
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
)

// fileName is a name for the platform that a file system takes.
func fileName(p catalogue.Platform) string { return strings.ReplaceAll(p.String(), "/", "-") }
