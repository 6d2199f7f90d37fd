//go:build unix

package watch

import (
	"errors"
	"os"
	"syscall"
)

// openFile opens a regular file. What has become a pipe meanwhile does not make it
// wait, and what has become a symbolic link is not followed.
func openFile(place string) (*os.File, error) {
	return os.OpenFile(place, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
}

// gone says that there was something else on the way, or as the last of it.
func gone(err error) bool {
	return errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
}
