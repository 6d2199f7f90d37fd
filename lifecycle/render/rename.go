package render

import (
	"fmt"
	"regexp"

	"sigs.k8s.io/kustomize/api/types"
)

// image refuses an images entry that gives an image of the request another
// name. It would be so wherever the entry applies, so it does not matter
// whether another object keeps the name.
func (f *kfile) image(field string, entry types.Image) {
	if entry.NewName == "" {
		return
	}
	for _, name := range f.images {
		if entry.NewName != name && names(entry.Name, name) {
			f.problem(field+".newName", entry.NewName, fmt.Errorf("%s is an image that the catalogue builds: %w", name, ErrRenamed))
		}
	}
}

// names says whether the name of an images entry is an image's, with a tag or
// without. kustomize takes it for the beginning of a regular expression, and for
// nothing if it is none.
func names(entry, image string) bool {
	for _, entry := range []string{entry, imageName(entry)} {
		if pattern, err := regexp.Compile("^" + entry + "$"); err == nil && pattern.MatchString(image) {
			return true
		}
	}
	return false
}
