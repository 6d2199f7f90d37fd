package worktree

import (
	"io/fs"
	"syscall"
	"time"
)

// identity returns a file's number, and when it or what is said of it was last
// changed: a time that no program can set.
func identity(info fs.FileInfo) (inode uint64, changed time.Time) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ino, time.Unix(s.Ctim.Unix())
	}
	return 0, info.ModTime()
}
