package worktree

import (
	"fmt"
	"io/fs"
	"time"
)

// fileKey changes whenever a file is written to or replaced, except within the
// resolution of the file system's clock: see settled.
func fileKey(info fs.FileInfo) string {
	inode, changed := identity(info)
	return fmt.Sprintf("%d:%d:%d:%o:%d", info.Size(), info.ModTime().UnixNano(), changed.UnixNano(), info.Mode(), inode)
}

// resolution is more than that of any file system's clock: FAT's goes in steps of
// two seconds.
const resolution = 2 * time.Second

// settled holds for a file that was last changed so long before a time that the
// next change has another time: it will change the key.
func (c *checkout) settled(info fs.FileInfo, at time.Time) bool {
	_, changed := identity(info)
	return at.Sub(changed) > c.resolution
}
