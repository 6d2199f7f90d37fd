package golang

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"syscall"

	"github.com/pharos-dev/pharos/lifecycle"
)

// machineErrors are those of files that no commit causes or mends.
var machineErrors = []error{
	syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EACCES, syscall.EPERM, syscall.EROFS, syscall.EIO, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM,
}

func isMachineError(err error) bool {
	for _, m := range machineErrors {
		if errors.Is(err, m) {
			return true
		}
	}
	return false
}

var (
	// machineFault is what the Go command and its tools say when this machine
	// does not let them work.
	machineFault = regexp.MustCompile(`(?i)no space left on device|not enough space on the disk|disk quota exceeded|file too large|permission denied|access is denied|` +
		`operation not permitted|read-only file system|input/output error|too many open files|cannot allocate memory|out of memory|resource temporarily unavailable|` +
		`signal: killed|failed to initialize build cache|creating work dir:`)
	// sourceLine begins what the compiler says of a line of source, which may
	// quote anything.
	sourceLine = regexp.MustCompile(`^\s*\S+\.(go|s|c|h|cc|cpp):\d+`)
)

// machineError is the error of a Go command that failed because of this machine:
// a full or closed folder, or too little memory. It is nil if it failed
// otherwise.
func (b *build) machineError(tc *toolchain, output string, err error) error {
	cause := ""
	for line := range strings.Lines(output) {
		if !sourceLine.MatchString(line) && machineFault.MatchString(line) {
			cause = strings.TrimSpace(line)
			break
		}
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if cause == "" && ok && exit.ExitCode() == -1 {
		cause = "the go command was ended from outside (" + exit.String() + ")"
	}
	if cause == "" {
		return nil
	}
	return &lifecycle.Error{
		Op: "build image", On: b.request.State.Image.Name, Err: fmt.Errorf("%s: %w", cause, err), Advice: b.machineAdvice(tc, cause),
	}
}

// machineAdvice says which folder to look at, or that memory is short. Paths of
// the private folder are cut off in what the tools print, and $WORK is below it.
func (b *build) machineAdvice(tc *toolchain, cause string) string {
	lower := strings.ToLower(cause)
	for _, short := range []string{"killed", "memory", "resource temporarily unavailable", "ended from outside"} {
		if strings.Contains(lower, short) {
			return "This machine may have too little memory for the compiler: give it more, or build fewer images at once."
		}
	}
	folder, setting := b.tempDir, "TMPDIR"
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		if dir := tc.settings[name]; dir != "" && strings.Contains(cause, dir) {
			folder, setting = dir, name
		}
	}
	return fmt.Sprintf("This machine's folder %s is full, or may not be written to: make room there, or name another with %s. The commit is not to blame.", folder, setting)
}
