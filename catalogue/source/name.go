package source

import (
	"fmt"
	"strings"
)

func checkName(name string) error {
	if name == "" || name == "." || name == ".." || strings.IndexByte(name, '/') >= 0 || strings.IndexByte(name, 0) >= 0 || isDotGit(name) {
		return fmt.Errorf("%w: an entry is named %q", ErrMalformed, name)
	}
	return nil
}

// isDotGit holds for the names by which some file system finds .git, which git
// refuses too (core.protectHFS and core.protectNTFS): a program that works in a
// folder that holds one, such as a compiler asking for the version, would obey
// its configuration.
func isDotGit(name string) bool {
	if c := name[0]; c != '.' && c != 'g' && c != 'G' && c < 0x80 {
		return false
	}
	ntfs, _, _ := strings.Cut(name, ":")
	ntfs = strings.TrimRight(ntfs, ". ")
	hfs := strings.Map(dropIgnored, name)
	return strings.EqualFold(ntfs, ".git") || strings.EqualFold(ntfs, "git~1") || strings.EqualFold(hfs, ".git")
}

// dropIgnored drops the code points that HFS+ ignores in names.
func dropIgnored(r rune) rune {
	switch {
	case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
		return -1
	}
	return r
}
