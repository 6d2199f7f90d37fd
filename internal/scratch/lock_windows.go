package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/windows"
)

// errLocked is the error of lock when another process, or another part
// of this one, has the folder.
var errLocked = errors.New("the folder is locked, or gone")

// unlockedFor is how old a folder without a lock file must be before it counts
// as left behind: it may be one that is just being made.
const unlockedFor = time.Hour

// lock locks a file in the folder, since Windows locks no folders, and
// does not wait.
func lock(dir string) (unlock func() error, err error) {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errLocked
	}
	if err != nil {
		return nil, err
	}
	name, err := windows.UTF16PtrFromString(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, err
	}
	disposition := uint32(windows.OPEN_ALWAYS)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	if len(entries) > 0 && time.Since(info.ModTime()) < unlockedFor {
		disposition = windows.OPEN_EXISTING
	}
	// Others may delete the file while it is open, but nobody else can open it.
	h, err := windows.CreateFile(name, windows.GENERIC_READ|windows.GENERIC_WRITE, windows.FILE_SHARE_DELETE,
		nil, disposition, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, windows.ERROR_SHARING_VIOLATION) {
		return nil, errLocked
	}
	if err != nil {
		return nil, err
	}
	return func() error { return windows.CloseHandle(h) }, nil
}
