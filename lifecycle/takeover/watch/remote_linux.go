package watch

import "golang.org/x/sys/unix"

// remote names the kind of file system that a folder is on, if others write there
// as well, of which this system does not know. See statfs(2) for the numbers.
func remote(dir string) string {
	var stat unix.Statfs_t
	if unix.Statfs(dir, &stat) != nil {
		return ""
	}
	switch uint32(stat.Type) {
	case 0x6969:
		return "NFS"
	case 0x517b, 0xff534d42, 0xfe534d42:
		return "SMB"
	case 0x01021997:
		return "9p"
	case 0x65735546:
		return "FUSE"
	case 0x5346414f, 0x6b414653:
		return "AFS"
	case 0x00c36400:
		return "Ceph"
	case 0x786f4256:
		return "VirtualBox"
	}
	return ""
}
