package filesrecipe

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
)

// The media types of layers
// (https://github.com/opencontainers/image-spec/blob/v1.1.1/media-types.md).
const (
	Layer             = "application/vnd.oci.image.layer.v1.tar+gzip"
	UncompressedLayer = "application/vnd.oci.image.layer.v1.tar"
	zstdLayer         = "application/vnd.oci.image.layer.v1.tar+zstd"
)

// whiteout begins the names of files that stand for a deletion in the layer of an
// image (https://github.com/opencontainers/image-spec/blob/v1.1.1/layer.md#whiteouts).
const whiteout = ".wh."

// Form is what is made of the files.
type Form struct {
	MediaType string // of the blob
	Artifact  bool   // not an ordinary image
	Tar       bool   // an archive of a folder, not one file as it is
	Gzip      bool   // the archive is compressed
}

// Check says what a recipe makes of files, and what is wrong with it whatever the
// files are, each as a sentence that begins with a field's name. Then the form is not
// to be used.
func Check(b catalogue.FilesBuild) (f Form, problems []string) {
	f, err := formOf(b.MediaType)
	if err != nil {
		problems = append(problems, fmt.Sprintf("build.files.mediaType: %v", err))
	}
	if !f.Artifact && strings.Contains(path.Clean("/"+b.Root), "/"+whiteout) {
		problems = append(problems, fmt.Sprintf("build.files.root: %s: in an image's layer a name that begins with %s is a deletion", b.Root, whiteout))
	}
	return f, problems
}

// formOf follows from the media type alone. The error follows the field's name.
func formOf(mediaType string) (Form, error) {
	mt := strings.ToLower(mediaType)
	switch {
	case mt == "" || mt == Layer:
		return Form{MediaType: Layer, Tar: true, Gzip: true}, nil
	case mt == UncompressedLayer:
		return Form{MediaType: UncompressedLayer, Tar: true}, nil
	case mt == zstdLayer:
		return Form{}, fmt.Errorf("layers are compressed with gzip, not as %s: leave it out", mediaType)
	case strings.HasPrefix(mt, "application/vnd.oci."):
		return Form{}, fmt.Errorf("%s is the OCI image specification's own, and not for files: leave it out for an image, or name a type of your own for an artifact", mediaType)
	case strings.HasPrefix(mt, "application/vnd.docker."):
		return Form{}, fmt.Errorf("%s is Docker's own, and images are OCI images: leave it out", mediaType)
	}
	f := Form{MediaType: mediaType, Artifact: true}
	_, name, _ := strings.Cut(mt, "/")
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(".+-", r) })
	last := len(words) - 1
	switch {
	case last < 0:
		return Form{}, fmt.Errorf("%q is no media type", mediaType)
	case words[last] == "tar":
		f.Tar = true
	case words[last] == "tgz":
		f.Tar, f.Gzip = true, true
	case last > 0 && words[last-1] == "tar":
		f.Tar, f.Gzip = true, true
		if !slices.Contains([]string{"gzip", "gz"}, words[last]) {
			return Form{}, fmt.Errorf("%s is an archive that is compressed with %s, and archives are compressed with gzip or not at all", mediaType, words[last])
		}
	}
	return f, nil
}

// isArchive says whether a file is an archive by its name.
func isArchive(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{".tar", ".tar.gz", ".tgz"}, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}
