package worktree

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrBare is returned for a repository that has no working directory.
	ErrBare = errors.New("the repository is bare: it has no working directory")
	// ErrUnmerged is returned while a merge, or what else may conflict, has
	// left conflicts: git add would take the files with the markers in them.
	ErrUnmerged = errors.New("unmerged files")
	// ErrNested is returned for a repository inside of the checkout that is
	// neither a submodule nor ignored: git add would record the commit that it
	// stands at and nothing of its files.
	ErrNested = errors.New("a repository inside of the checkout")
	// ErrUnreadable is returned for a folder that git cannot read, and would
	// pass over with a warning.
	ErrUnreadable = errors.New("unreadable")
	// ErrFilter is returned when a filter of .gitattributes that is not
	// required failed: git add would take the file as it is, on this machine
	// only.
	ErrFilter = errors.New("a clean filter failed")
	// ErrChanging is returned when files come and go faster than they are read.
	ErrChanging = errors.New("the working directory does not stand still")
)

// PathsError is a fault of some files of a checkout. It matches Kind.
type PathsError struct {
	Dir    string   // the checkout's root
	Kind   error    // one of this package's errors, or source.ErrTooLarge
	Paths  []string // in the checkout, slash-separated
	Advice string   // what to do about it
}

const shownPaths = 5

// Error names the first of the paths.
func (e *PathsError) Error() string {
	shown, more := e.Paths, ""
	if len(shown) > shownPaths {
		shown, more = shown[:shownPaths], fmt.Sprintf(" and %d more", len(shown)-shownPaths)
	}
	return fmt.Sprintf("%s: %v: %s%s: %s", e.Dir, e.Kind, strings.Join(shown, ", "), more, e.Advice)
}

// Unwrap returns the kind of fault.
func (e *PathsError) Unwrap() error { return e.Kind }

// GitError says that the git program failed, in its own words.
type GitError struct {
	Dir     string // the checkout's root
	Command string // of git, such as "status"
	Err     error  // how it ended
	Stderr  string // what it said
}

// Error gives git's own words.
func (e *GitError) Error() string {
	return fmt.Sprintf("git %s in %s: %v: %s", e.Command, e.Dir, e.Err, e.Stderr)
}

// Unwrap returns how the program ended.
func (e *GitError) Unwrap() error { return e.Err }
