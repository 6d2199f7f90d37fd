package files

import (
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/types"
)

func FuzzFormOf(f *testing.F) {
	for _, mediaType := range []string{
		"", "application/wasm", "application/vnd.oci.image.layer.v1.tar+gzip", "application/vnd.oci.image.layer.v1.tar", "application/vnd.x.tar+zstd",
		"application/x-tgz", "+", "a/", "a/tar", "a/b+tar+gz", "a/tar+gzip+json",
	} {
		f.Add(mediaType)
	}
	f.Fuzz(func(t *testing.T, mediaType string) {
		form, err := formOf(mediaType)
		switch {
		case err != nil:
		case !form.artifact && (!form.tar || form.mediaType != types.OCILayer && form.mediaType != types.OCIUncompressedLayer):
			t.Errorf("%q makes an image of %+v", mediaType, form)
		case form.artifact && string(form.mediaType) != mediaType:
			t.Errorf("%q makes an artifact of the type %s", mediaType, form.mediaType)
		case form.gzip && !form.tar:
			t.Errorf("%q compresses what is no archive", mediaType)
		}
	})
}
