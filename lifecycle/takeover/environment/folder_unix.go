//go:build unix

package environment

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// createLock makes a file and locks it. The lock ends with the process, and is not
// passed on to those that it starts. It returns nil if another process locked the
// file at once.
func createLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	return lock(f)
}

// lock locks a file; it returns nil if a process holds it, or has removed it.
func lock(f *os.File) (*os.File, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, f.Close()
	}
	if err != nil {
		return nil, errors.Join(&fs.PathError{Op: "lock", Path: f.Name(), Err: err}, f.Close())
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if now, err := os.Lstat(f.Name()); err != nil || !os.SameFile(info, now) {
		return nil, f.Close()
	}
	return f, nil
}

// takeLock locks a file that a process has left, or one in its place if it is gone.
// It returns nil if a process holds it, or if it is not this user's.
func takeLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil || !isOwn(info) {
		return nil, errors.Join(err, f.Close())
	}
	return lock(f)
}

// isOwn says whether a file is the user's.
func isOwn(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}
