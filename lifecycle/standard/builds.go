package standard

import "github.com/pharos-dev/pharos/catalogue"

// Builds says whether Config has a builder for a kind of recipe, such as
// catalogue.BuildGo.
func Builds(kind string) bool { return kind == catalogue.BuildGo }
