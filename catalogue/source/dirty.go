package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// ErrNoGit is returned by Repository.Dirty if there is no git program.
var ErrNoGit = errors.New("there is no git program")

// Dirty returns the paths in the checkout that differ from HEAD, slash-separated
// and sorted, those that are neither tracked nor ignored among them; of a rename
// both. A bare repository has none. It asks the git program, which alone knows a
// checkout's filters, and changes nothing, not even the index. Errors: ErrNoGit;
// what git itself says, such as that the folder belongs to somebody else.
func (r *Repository) Dirty(ctx context.Context) ([]string, error) {
	if r.bare {
		return nil, nil
	}
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("%w to ask what the working tree changed: %w", ErrNoGit, err)
	}
	cmd := exec.CommandContext(ctx, program, "--no-optional-locks", "-C", r.root,
		"status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")
	cmd.Env = slices.DeleteFunc(cmd.Environ(), elsewhere)
	cmd.WaitDelay = 10 * time.Second // for a helper of git's that outlives it and holds the pipes
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("git status in %s: %w: %s", r.root, err, strings.TrimSpace(errOut.String()))
	}
	var paths []string
	for line := range strings.SplitSeq(out.String(), "\x00") {
		if len(line) > 3 { // two letters of state and a space
			paths = append(paths, line[3:])
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// elsewhere holds for the variables with which git, in a hook say, points the
// programs that it starts at one repository: here it is another one's turn.
func elsewhere(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	switch name {
	case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
		"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_PREFIX", "GIT_NAMESPACE", "GIT_IMPLICIT_WORK_TREE":
		return true
	}
	return false
}
