package files

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/types"
)

// form is what is made of the files.
type form struct {
	mediaType types.MediaType
	artifact  bool // not an ordinary image
	tar       bool // an archive of a folder, not one file as it is
	gzip      bool
}

// formOf follows from the media type alone. The error follows the field's name.
func formOf(mediaType string) (form, error) {
	mt := types.MediaType(strings.ToLower(mediaType))
	switch {
	case mt == "" || mt == types.OCILayer:
		return form{mediaType: types.OCILayer, tar: true, gzip: true}, nil
	case mt == types.OCIUncompressedLayer:
		return form{mediaType: types.OCIUncompressedLayer, tar: true}, nil
	case mt == types.OCILayerZStd:
		return form{}, fmt.Errorf("layers are compressed with gzip, not as %s: leave it out", mediaType)
	case strings.HasPrefix(string(mt), "application/vnd.oci."):
		return form{}, fmt.Errorf("%s is the OCI image specification's own, and not for files: leave it out for an image, or name a type of your own for an artifact", mediaType)
	case strings.HasPrefix(string(mt), "application/vnd.docker."):
		return form{}, fmt.Errorf("%s is Docker's own, and images are OCI images: leave it out", mediaType)
	}
	f := form{mediaType: types.MediaType(mediaType), artifact: true}
	_, name, _ := strings.Cut(string(mt), "/")
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(".+-", r) })
	last := len(words) - 1
	switch {
	case last < 0:
		return form{}, fmt.Errorf("%q is no media type", mediaType)
	case words[last] == "tar":
		f.tar = true
	case words[last] == "tgz":
		f.tar, f.gzip = true, true
	case last > 0 && words[last-1] == "tar":
		f.tar, f.gzip = true, true
		if !slices.Contains([]string{"gzip", "gz"}, words[last]) {
			return form{}, fmt.Errorf("%s is an archive that is compressed with %s, and archives are compressed with gzip or not at all", mediaType, words[last])
		}
	}
	return f, nil
}

// isArchive says whether a file is an archive by its name.
func isArchive(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{".tar", ".tar.gz", ".tgz"}, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}
