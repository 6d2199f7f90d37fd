package main

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// forget drops a file from the page cache, so that it is read from the disk as a
// program that was installed some time ago. Of one that was just written, Linux
// maps all that is in one large page with the first byte of it, and counts it as
// resident.
func forget(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	err = f.Sync()
	if err == nil {
		err = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
	}
	return errors.Join(err, f.Close())
}
