//go:build !linux

package devenv

import (
	"os"
	"os/exec"
	"runtime"
)

// BuildKitAvailable returns nil where [StartBuildKit] can work, and otherwise a *[BuildKitUnavailableError].
func BuildKitAvailable() error {
	return &BuildKitUnavailableError{Reasons: []string{"it needs Linux, and this is " + runtime.GOOS}}
}

func (b *BuildKit) command() *exec.Cmd { return exec.Command(b.daemon, b.options.Args...) }

func killAll(process *os.Process) { _ = process.Kill() }

func removeBuildKit(dir string) error { return os.RemoveAll(dir) }

// Runs reports whether a step of a build runs whose command line holds the text, words separated by spaces.
func (b *BuildKit) Runs(string) bool { return false }
