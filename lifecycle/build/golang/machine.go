package golang

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/machine"
)

var (
	// machineFault is what the Go command and its tools say when this machine
	// does not let them work. What the system says ends its line. Servers say as
	// well that permission is denied: of a machine, that stands after a path.
	machineFault = lazyregexp.New(`(?i): (no space left on device|(there is )?not enough space on the disk|disk quota exceeded|file too large|` +
		`read-only file system|input/output error|too many open files( in system)?|cannot allocate memory|resource temporarily unavailable|signal: killed)\.?$|` +
		`[/\\][^:]*: (permission denied|operation not permitted|access is denied)\.?$|` +
		`^(fatal error: )?runtime: (out of memory|cannot allocate memory)|^fatal error: out of memory|` +
		`^(go: )?(failed to initialize build cache|creating work dir:|build cache is (disabled|required)|error starting GOCACHEPROG|(GOPATH|GOMODCACHE) entry is relative)`)
	// position begins what is said of a place in the source. The file may have
	// any name there (a //line directive gives it one), and the rest may quote
	// anything, but for what is said of a module that is downloaded.
	position = lazyregexp.New(`^.+?:\d+(:\d+)?: (\S+@v\S+: )?`)
)

// machineCause is the line of a command's output that says that this machine is
// to blame, with the line that it belongs to; empty if there is none.
func machineCause(output string) string {
	head := ""
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\r\n")
		said := strings.TrimLeft(line, " \t")
		if said == line {
			head = line
		}
		if at := position.FindStringSubmatchIndex(line); at != nil && at[4] < 0 || !machineFault.MatchString(said) {
			continue
		}
		if said != line && head != "" {
			return head + " " + said
		}
		return said
	}
	return ""
}

// machineError is the error of a Go command that failed because of this machine:
// a full or closed folder, or too little memory. It is nil if it failed
// otherwise.
func (b *build) machineError(tc *toolchain, output string, err error) error {
	cause := machineCause(output)
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
			return "This machine may have too little memory for the compiler: give it more, or build fewer images at once (kubectl pharos reconcile --builds 1)."
		}
	}
	switch {
	case strings.Contains(lower, "too many open files"):
		return machine.TooManyFiles
	case strings.Contains(cause, "build cache is"):
		return `Name a folder for Go's build cache with GOCACHE, by its absolute path: it is "off", or relative, or there is no HOME for it to be in.`
	case strings.Contains(cause, "GOCACHEPROG"):
		return "Mend the program that GOCACHEPROG names, or go without: unset it (go env -u GOCACHEPROG)."
	case strings.Contains(cause, "entry is relative"):
		return "Name the folder by its absolute path, in the environment or with go env -w."
	}
	folder, setting := b.tempDir, "TMPDIR"
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		if dir := tc.settings[name]; dir != "" && strings.Contains(cause, dir) {
			folder, setting = dir, name
		}
	}
	return machine.Folder(folder, setting, !strings.Contains(lower, strings.ToLower(syscall.ENOENT.Error())))
}
