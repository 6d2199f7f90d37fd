package lifecycle

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
)

// recipes are the kinds of recipe, and what people call them.
var recipes = []struct{ kind, called string }{
	{catalogue.BuildGo, "Go packages"},
	{catalogue.BuildDockerfile, "Dockerfiles"},
	{catalogue.BuildFiles, "files alone"},
}

// lackBuilders refuses images that have to be built and that nothing here
// builds, all of them at once.
func (l *Lifecycle) lackBuilders(images []*image) error {
	var errs []error
	for _, r := range recipes {
		if l.Builders[r.kind] != nil {
			continue
		}
		var names []string
		for _, img := range images {
			if img.status.Build() && img.state.Image.Build.Kind() == r.kind {
				names = append(names, img.status.Name)
			}
		}
		if len(names) > 0 {
			errs = append(errs, fmt.Errorf("this version cannot build from %s yet: %s", r.called, strings.Join(names, ", ")))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return &Error{Op: "build", On: "images", Class: ErrSource, Err: errors.Join(errs...),
		Advice: "Until it can, leave them out of " + catalogue.FileName + ", and name what builds them elsewhere by digest in the kustomization."}
}
