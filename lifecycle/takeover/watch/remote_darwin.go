package watch

import "golang.org/x/sys/unix"

// remote names the kind of file system that a folder is on, if others write there
// as well, of which this system does not know.
func remote(dir string) string {
	var stat unix.Statfs_t
	if unix.Statfs(dir, &stat) != nil || stat.Flags&unix.MNT_LOCAL != 0 {
		return ""
	}
	return unix.ByteSliceToString(stat.Fstypename[:])
}
