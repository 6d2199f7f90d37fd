package worktree

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// git runs the git program in a checkout, with an index and an object folder of
// ours.
type git struct {
	program string
	root    string
	env     []string
	log     *slog.Logger
}

func newGit(c Config, root string) (git, error) {
	name := c.Git
	if name == "" {
		name = "git"
	}
	program, err := exec.LookPath(name)
	if err != nil {
		return git{}, fmt.Errorf("%w to ask what the working directory holds: %w", source.ErrNoGit, err)
	}
	if program, err = filepath.Abs(program); err != nil { // it is run in another folder
		return git{}, err
	}
	env := c.Env
	if env == nil {
		env = (&exec.Cmd{}).Environ() // as git is started without it
	}
	env = slices.DeleteFunc(slices.Clone(env), elsewhere)
	return git{program: program, root: root, env: append(env,
		"GIT_OPTIONAL_LOCKS=1", // the index is ours to refresh
		"GIT_NO_REPLACE_OBJECTS=1",
		// What a partial clone lacks is not fetched; the second is for a git
		// that does not know the first.
		"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_TERMINAL_PROMPT=0",
		"LANGUAGE=en", // of messages, without changing what filters take for the locale
	), log: c.Log}, nil
}

// settings keep git from starting anything, and from writing anywhere but in our
// index and our object folder.
var settings = []string{
	"-c", "core.fsmonitor=", // no daemon is started, no hook is asked
	"-c", "core.hooksPath=" + os.DevNull,
	"-c", "core.splitIndex=false", // its other half would lie beside the user's index
	"-c", "core.untrackedCache=false", // git add does not trust it either
	"-c", "core.fsyncMethod=batch", // one flush for all objects
}

// run returns what git wrote to its output, and the lines that it wrote to
// stderr while it succeeded.
func (g *git) run(ctx context.Context, objects, index string, stdin []byte, args ...string) (out []byte, remarks []string, err error) {
	cmd := exec.CommandContext(ctx, g.program, slices.Concat(settings, args)...)
	cmd.Dir = g.root
	cmd.Env = append(slices.Clone(g.env), "GIT_OBJECT_DIRECTORY="+objects, "GIT_INDEX_FILE="+index, "PWD="+g.root)
	cmd.WaitDelay = 10 * time.Second // for a filter that outlives git and holds the pipes
	cmd.Stdin = bytes.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	said := strings.TrimSpace(stderr.String())
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		return nil, nil, &GitError{Dir: g.root, Command: args[0], Err: err, Stderr: said}
	}
	if said != "" {
		remarks = strings.Split(said, "\n")
		g.log.DebugContext(ctx, "git remarks", "dir", g.root, "command", args[0], "stderr", said)
	}
	return stdout.Bytes(), remarks, nil
}

// elsewhere holds for the variables with which git, in a hook say, points the
// programs that it starts at one repository, and for those that change what a
// path means. See git(1), Environment Variables.
func elsewhere(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	switch name {
	case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
		"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_PREFIX", "GIT_NAMESPACE", "GIT_IMPLICIT_WORK_TREE",
		"GIT_QUARANTINE_PATH", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_REPLACE_REF_BASE",
		"GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS":
		return true
	}
	return false
}
