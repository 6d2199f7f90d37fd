package source

import (
	"bytes"
	"context"
	"fmt"
	"io"
)

// maxTarget is how long the target of a symbolic link can be on Linux, in bytes.
const maxTarget = 4095

// ReadLink returns the target of a symbolic link, the blob of that ID. Errors:
// ErrMalformed if Linux could not have such a link: its target is empty, has a NUL
// or more than 4095 bytes; those of Objects.
func ReadLink(ctx context.Context, objects Objects, id ID) (string, error) {
	r, size, err := objects.Blob(ctx, id)
	if err != nil {
		return "", err
	}
	defer r.Close()
	if size > maxTarget {
		return "", fmt.Errorf("%w: the target of a symbolic link has %d bytes", ErrMalformed, size)
	}
	target, err := io.ReadAll(io.LimitReader(r, maxTarget))
	if err == nil && (len(target) == 0 || bytes.IndexByte(target, 0) >= 0) {
		err = fmt.Errorf("%w: the target of a symbolic link is %q", ErrMalformed, target)
	}
	return string(target), err
}
