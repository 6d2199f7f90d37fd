package problem

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/lifecycle"
)

// List is what is wrong with the inputs of an image.
type List struct {
	// Image is the image's name.
	Image string

	reasons []string
	missing []lifecycle.MissingInput
}

// Add adds a reason, formatted as by fmt.Sprintf.
func (l *List) Add(format string, args ...any) {
	l.reasons = append(l.reasons, fmt.Sprintf(format, args...))
}

// Miss notes a path that is in the full tree but not among the inputs, and the
// pattern that declares it. A pattern's special characters are escaped: see
// Literal.
func (l *List) Miss(path, pattern string) {
	m := lifecycle.MissingInput{Path: path, Pattern: pattern}
	if !slices.Contains(l.missing, m) {
		l.missing = append(l.missing, m)
	}
}

// Any says whether there is something wrong.
func (l *List) Any() bool { return len(l.reasons)+len(l.missing) > 0 }

// Err is a *[lifecycle.BuildError] of everything, nil if there is nothing.
func (l *List) Err() error {
	if !l.Any() {
		return nil
	}
	return l.BuildError("", nil)
}

// BuildError is Err with what the build's tools printed and how they failed.
func (l *List) BuildError(output string, err error) *lifecycle.BuildError {
	slices.SortFunc(l.missing, func(a, b lifecycle.MissingInput) int { return strings.Compare(a.Path, b.Path) })
	reasons := l.reasons
	if len(l.missing) > 0 {
		reasons = append(slices.Clip(reasons), "it reads what is not among its inputs")
	}
	return &lifecycle.BuildError{
		Image: l.Image, Reason: strings.Join(reasons, "; "), Missing: l.missing, Output: output, Err: err,
	}
}

// Literal is the pattern that matches one path.
func Literal(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "!", `\!`).Replace(path)
}

// Cause is the cause alone of an error that says what was attempted.
func Cause(err error) error {
	if failed, ok := errors.AsType[*lifecycle.Error](err); ok && failed.Err != nil {
		return failed.Err
	}
	return err
}
