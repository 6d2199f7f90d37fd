package filesrecipe

import "testing"

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
		case !form.Artifact && (!form.Tar || form.MediaType != Layer && form.MediaType != UncompressedLayer):
			t.Errorf("%q makes an image of %+v", mediaType, form)
		case form.Artifact && form.MediaType != mediaType:
			t.Errorf("%q makes an artifact of the type %s", mediaType, form.MediaType)
		case form.Gzip && !form.Tar:
			t.Errorf("%q compresses what is no archive", mediaType)
		}
	})
}
