package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/pharos-dev/pharos/internal/fault"
)

// IsFault says whether an error is one of this machine: it has no more of
// something, its disk fails, or a file is closed.
func IsFault(err error) bool {
	return fault.OfSystem(err) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM)
}

// IsGone says whether an error is that a folder of this machine, or what was in
// it, is not there.
func IsGone(err error, folder string) bool {
	path, ok := errors.AsType[*fs.PathError](err)
	return ok && errors.Is(err, fs.ErrNotExist) && strings.HasPrefix(path.Path, folder)
}

// TooManyFiles is what to do about a machine that lets too few files be open.
const TooManyFiles = "This machine lets too few files be open at once: raise the limit (ulimit -n), or build fewer images at once (kubectl pharos reconcile --builds 1). The commit is not to blame."

// Advice is what to do about an error that came of working below a folder, which
// the setting (such as TMPDIR) names: one line, empty if the machine is not to
// blame.
func Advice(err error, folder, setting string) string {
	switch {
	case errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE):
		return TooManyFiles
	case IsGone(err, folder):
		return Folder(folder, setting, false)
	case IsFault(err):
		return Folder(folder, setting, true)
	}
	return ""
}

// Folder is what to do about a folder that cannot be written to: it is not there,
// or it is there and full or closed.
func Folder(folder, setting string, there bool) string {
	state := "is not there: make it"
	if there {
		state = "is full, or may not be written to: make room there"
	}
	return fmt.Sprintf("This machine's folder %s %s, or name another with %s. The commit is not to blame.", folder, state, setting)
}
