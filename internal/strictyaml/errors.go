package strictyaml

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Error is one problem.
type Error struct {
	File    string
	Line    int    // from 1; 0 for a problem of the file as a whole
	Column  int    // in characters, from 1; 0 if only the line is known
	Field   string // "images[2].build.go.package"; empty if it is no field's
	Message string // what is wrong and, where that helps, what to write instead
}

// Error is "file:line:column: field: message", without the parts that are not
// known.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	for _, n := range []int{e.Line, e.Column} {
		if n > 0 {
			fmt.Fprintf(&b, ":%d", n)
		}
	}
	if e.Field != "" {
		b.WriteString(": " + e.Field)
	}
	b.WriteString(": " + e.Message)
	return b.String()
}

// Errors are all problems of a file, in the order of the file.
type Errors struct{ List []*Error }

// Error has a line for each problem.
func (e *Errors) Error() string {
	lines := make([]string, len(e.List))
	for i, p := range e.List {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the problems.
func (e *Errors) Unwrap() []error {
	errs := make([]error, len(e.List))
	for i, p := range e.List {
		errs[i] = p
	}
	return errs
}

// Join makes one error of several: the problems of all *Errors among them in
// the order of the file, a problem that several report only once, followed by
// the other errors. It returns nil if there is none.
func Join(errs ...error) error {
	all := &Errors{}
	var others []error
	for _, err := range errs {
		if list, ok := errors.AsType[*Errors](err); ok {
			all.List = append(all.List, list.List...)
		} else if err != nil {
			others = append(others, err)
		}
	}
	if len(all.List) == 0 {
		return errors.Join(others...)
	}
	slices.SortStableFunc(all.List, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	all.List = slices.CompactFunc(all.List, func(a, b *Error) bool { return *a == *b })
	if len(others) == 0 {
		return all
	}
	return errors.Join(append([]error{all}, others...)...)
}
