//go:build unix

package scratch

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// errLocked is the error of lock when another process, or another part
// of this one, has the folder.
var errLocked = errors.New("the folder is locked, or gone")

// lock locks a folder itself, so that nothing beside it has to be kept, and
// does not wait.
func lock(dir string) (unlock func() error, err error) {
	d, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errLocked
	}
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(d.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errLocked
	}
	if err == nil {
		// It may have been removed, and even made anew, before it was locked.
		err = stillThere(dir, d)
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d.Close, nil
}

func stillThere(dir string, d *os.File) error {
	named, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return errLocked
	}
	if err != nil {
		return err
	}
	opened, err := d.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(named, opened) {
		return errLocked
	}
	return nil
}
