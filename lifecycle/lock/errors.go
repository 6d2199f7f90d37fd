package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle"
)

// ErrChanged is matched by the error of [Report.Write] when the file is no longer
// what was compared.
var ErrChanged = errors.New(catalogue.LockFileName + " is not what it was read as")

// FailedError is returned when references have no usable answer. It matches what
// the errors of its entries match, and [lifecycle.ErrSource] for a reference that
// leads nowhere or to the wrong platforms.
type FailedError struct {
	Entries []Entry // those that failed, in the order of the report
	Of      int     // how many references are in use
}

// Error has the failures on lines of their own, and then what to do, each advice
// once.
func (e *FailedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of the %d references cannot be locked:", len(e.Entries), e.Of)
	var advice []string
	add := func(line string) {
		if line != "" && !slices.Contains(advice, line) {
			advice = append(advice, line)
		}
	}
	for _, f := range e.Entries {
		err := f.Err
		if of, ok := errors.AsType[*lifecycle.Error](err); ok {
			// The entry's reference stands there already.
			err = of.Err
			add(of.Advice)
		}
		if errors.Is(f.Err, lifecycle.ErrImageNotFound) {
			add("Check the name and the tag. Some registries answer so for what you may not see, too: docker login.")
		}
		fmt.Fprintf(&b, "\n  %s, for %s: %v", f.Reference, strings.Join(slices.Concat(f.Images, f.Users), ", "), err)
	}
	for _, line := range advice {
		b.WriteString("\n" + line)
	}
	return b.String()
}

// Unwrap returns the errors of the entries.
func (e *FailedError) Unwrap() []error {
	var all []error
	for _, f := range e.Entries {
		if errors.Is(f.Err, lifecycle.ErrImageNotFound) {
			all = append(all, lifecycle.ErrSource)
		}
		all = append(all, f.Err)
	}
	return all
}

// PlatformError is the error of a reference that Go images are built on and that
// is not there for all of their platforms. It matches [lifecycle.ErrSource].
type PlatformError struct {
	Digest lifecycle.Digest
	Lacks  []string // sorted
}

func (e *PlatformError) Error() string {
	return fmt.Sprintf("%s has no image for %s", e.Digest, strings.Join(e.Lacks, ", "))
}

// Is says whether target is lifecycle.ErrSource.
func (e *PlatformError) Is(target error) bool { return target == lifecycle.ErrSource }

// timeoutError says that a reference had no answer in time.
type timeoutError struct{ after time.Duration }

func (e *timeoutError) Error() string { return fmt.Sprintf("there was no answer within %s", e.after) }

func (e *timeoutError) Is(target error) bool {
	return target == lifecycle.ErrUnreachable || target == context.DeadlineExceeded
}

// UnusedError is returned for references that are asked for by name and that no
// image uses.
type UnusedError struct {
	References []string
	Used       []string // all that are in use, sorted
}

func (e *UnusedError) Error() string {
	used := "no image uses one that has to be locked"
	if len(e.Used) > 0 {
		used = "those in use are " + strings.Join(e.Used, ", ")
	}
	return fmt.Sprintf("no image uses %s: %s", strings.Join(e.References, ", "), used)
}

func checkUsed(references []string, all []Entry) error {
	e := &UnusedError{}
	for _, entry := range all {
		if entry.State != Unused {
			e.Used = append(e.Used, entry.Reference)
		}
	}
	for _, reference := range references {
		if !slices.Contains(e.Used, reference) {
			e.References = append(e.References, reference)
		}
	}
	if len(e.References) == 0 {
		return nil
	}
	return e
}

func sourceError(ctx context.Context, op, on string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &lifecycle.Error{Op: op, On: on, Class: lifecycle.ErrSource, Err: err}
}

// unreadable says that a file is there and its content is wrong.
func unreadable(err error) bool {
	_, ok := errors.AsType[*catalogue.ProblemsError](err)
	return ok
}
