package devenv

import (
	"context"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// BusyboxImage makes an image of this machine's static busybox, with all its commands in /bin.
func BusyboxImage(ctx context.Context) (v1.Image, error) {
	files := imageFiles{}
	if err := files.busybox(ctx); err != nil {
		return nil, err
	}
	return files.image(v1.Config{Env: []string{"PATH=/bin"}, Cmd: []string{"/bin/sh"}})
}
