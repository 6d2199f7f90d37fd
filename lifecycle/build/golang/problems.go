package golang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/lifecycle"
)

// problems collects what is wrong with an image's inputs, so that a person
// hears of all of it at once.
type problems struct {
	image   string
	reasons []string
	missing []lifecycle.MissingInput
}

func (p *problems) add(format string, args ...any) {
	p.reasons = append(p.reasons, fmt.Sprintf(format, args...))
}

// miss notes a path that is in the full tree but not among the inputs, and the
// pattern that declares it. A pattern's special characters are escaped.
func (p *problems) miss(path, pattern string) {
	m := lifecycle.MissingInput{Path: path, Pattern: pattern}
	if !slices.Contains(p.missing, m) {
		p.missing = append(p.missing, m)
	}
}

func (p *problems) any() bool { return len(p.reasons)+len(p.missing) > 0 }

func (p *problems) err() error {
	if !p.any() {
		return nil
	}
	return p.buildError("", nil)
}

func (p *problems) buildError(output string, err error) *lifecycle.BuildError {
	slices.SortFunc(p.missing, func(a, b lifecycle.MissingInput) int { return strings.Compare(a.Path, b.Path) })
	reasons := p.reasons
	if len(p.missing) > 0 {
		reasons = append(reasons, "it reads what is not among its inputs")
	}
	return &lifecycle.BuildError{
		Image: p.image, Reason: strings.Join(reasons, "; "), Missing: p.missing, Output: output, Err: err,
	}
}

// literal is the pattern that matches one path.
func literal(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "!", `\!`).Replace(path)
}
