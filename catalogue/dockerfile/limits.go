package dockerfile

import (
	"fmt"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// A Dockerfile of a few lines can stand for gigabytes, where each argument holds
// the one before it twice, and a tree of a few kilobytes for more files than any
// disk holds. The limits are far above what can be built.
const (
	// MaxSize is how large a Dockerfile may be, in bytes. BuildKit's parser needs
	// a few hundred bytes of memory for each line, however short it is.
	MaxSize = 1 << 20
	// MaxInstructions is how many instructions a Dockerfile may have, and how
	// many a target may run, those that ONBUILD adds included.
	MaxInstructions = 10_000

	maxWord     = 1 << 16 // bytes that one word may have, before its arguments are expanded and after
	maxProduct  = 1 << 24 // bytes that the replacements in one word may make
	maxExpanded = 1 << 24 // bytes that all words of one plan may have
	maxPatterns = 10_000  // of an ignore file
	maxIgnore   = 1 << 18 // bytes of an ignore file, and of all --exclude and --parents patterns of a plan
	maxPattern  = 1 << 10 // bytes of one pattern: it takes long to compile
	maxPath     = 4096    // bytes of a path or a symbolic link's target: the PATH_MAX of Linux
	maxLinks    = 255     // symbolic links on the way of one source, as in BuildKit
)

// limits are those of one look at a build context.
type limits struct {
	entries int // files and directories that are looked at
	paths   int // bytes that their paths have
	steps   int // comparisons of a path with a pattern, and visits of a path
	// products is the sum of length of the pattern × length of the path over the
	// comparisons that take so long: those with wildcards.
	products int
}

var defaults = limits{entries: 1 << 21, paths: 1 << 28, steps: 1 << 26, products: 1 << 29}

// TooLargeError is returned for a tree that is more than this package looks at.
// It matches source.ErrTooLarge.
type TooLargeError struct {
	Path  string // of the ignore file whose patterns are too many for the tree; "" if it is not for them
	What  string // what there is too much of
	Limit int
}

// Error says what there is too much of.
func (e *TooLargeError) Error() string {
	if e.Path != "" {
		return fmt.Sprintf("%s: it has too many patterns for the build context: there are more than %d %s", e.Path, e.Limit, e.What)
	}
	return fmt.Sprintf("the build context is too large: there are more than %d %s", e.Limit, e.What)
}

// Is says whether target is source.ErrTooLarge.
func (e *TooLargeError) Is(target error) bool { return target == source.ErrTooLarge }
