package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// ErrNoGit is returned by Repository.Dirty if there is no git program.
var ErrNoGit = errors.New("there is no git program")

// Dirty returns the paths in the checkout that differ from HEAD, sorted, the
// ones that are neither tracked nor ignored among them. It asks the git program,
// which alone knows a checkout's filters, and changes nothing, not even the
// index. Errors: ErrNoGit.
func (r *Repository) Dirty(ctx context.Context) ([]string, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("%w to ask what the working tree changed: %w", ErrNoGit, err)
	}
	cmd := exec.CommandContext(ctx, program, "--no-optional-locks", "-C", r.root, "status", "--porcelain=v1", "-z", "--untracked-files=all")
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("git status in %s: %w: %s", r.root, err, strings.TrimSpace(errOut.String()))
	}
	var paths []string
	fields := strings.Split(out.String(), "\x00")
	for i := 0; i < len(fields); i++ {
		if len(fields[i]) < 4 {
			continue
		}
		paths = append(paths, fields[i][3:])
		if fields[i][0] == 'R' || fields[i][0] == 'C' {
			i++ // where it came from
			if i < len(fields) && fields[i-1][0] == 'R' {
				paths = append(paths, fields[i])
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}
