package argo

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pharos-dev/pharos/internal/keys"
)

// Mark says which lease a sync window is of. It stands among the names of
// Applications that the window is for, since older versions of Argo CD have no
// other field that keeps it:
//
//	pharos.dev/lease=NAMESPACE/TARGET/TOKEN/HOLDER/END
//	pharos.dev/lease-ended=NAMESPACE/TARGET/TOKEN/HOLDER/END
//
// and "/first" after it in a list of windows that was not there before. HOLDER is
// escaped as a segment of an address; END is a time in UTC, in seconds:
// 2026-11-30T12:00:00Z. There is one way to write a mark. No Application can be
// named so, and none of its characters has a meaning in a glob.
type Mark struct {
	// Namespace is that of the lease, Target the target's name.
	Namespace, Target string
	Token             int64
	Holder            string
	// End is when the window ends, and of one that has ended, when it did.
	End time.Time
	// Ended says that the window keeps nothing from being synced any more, and
	// stands for what is still to do.
	Ended bool
	// First says that the project had no list of windows before.
	First bool
}

const (
	markEnd   = "2006-01-02T15:04:05Z"
	markFirst = "first"
)

// String is how the mark stands in a window.
func (m Mark) String() string {
	key := keys.LeaseWindow
	if m.Ended {
		key = keys.LeaseWindowEnded
	}
	s := fmt.Sprintf("%s=%s/%s/%d/%s/%s", key, m.Namespace, m.Target, m.Token, url.PathEscape(m.Holder), m.End.UTC().Format(markEnd))
	if m.First {
		s += "/" + markFirst
	}
	return s
}

// Of says whether the mark is one of a target's lease.
func (m Mark) Of(namespace, target string) bool {
	return m.Namespace == namespace && m.Target == target
}

// isMark says whether an entry is meant to be a mark.
func isMark(entry string) bool { return strings.HasPrefix(entry, keys.LeaseWindow) }

// ParseMark reads a mark. It takes nothing that String does not write.
func ParseMark(entry string) (Mark, error) {
	key, rest, _ := strings.Cut(entry, "=")
	fields := strings.Split(rest, "/")
	m := Mark{Ended: key == keys.LeaseWindowEnded, First: len(fields) == 6}
	if len(fields) < 5 {
		return Mark{}, fmt.Errorf("%q is no mark of a lease: it has %d fields, want namespace, target, token, holder and end", entry, len(fields))
	}
	m.Namespace, m.Target = fields[0], fields[1]
	var errs [3]error
	m.Token, errs[0] = strconv.ParseInt(fields[2], 10, 64)
	m.Holder, errs[1] = url.PathUnescape(fields[3])
	m.End, errs[2] = time.Parse(markEnd, fields[4])
	if err := errors.Join(errs[:]...); err != nil {
		return Mark{}, fmt.Errorf("%q is no mark of a lease: %w", entry, err)
	}
	if err := m.Check(); err != nil {
		return Mark{}, fmt.Errorf("%q is no mark of a lease: %w", entry, err)
	}
	if m.String() != entry {
		return Mark{}, fmt.Errorf("%q is no mark of a lease: it would be written %q", entry, m)
	}
	return m, nil
}

// Check reports what keeps the mark from being written.
func (m Mark) Check() error {
	var errs []error
	for _, n := range []string{m.Namespace, m.Target} {
		if msgs := validation.IsDNS1123Label(n); len(msgs) > 0 {
			errs = append(errs, fmt.Errorf("%q: %s", n, strings.Join(msgs, "; ")))
		}
	}
	if m.Token <= 0 {
		errs = append(errs, fmt.Errorf("the token %d is not more than 0", m.Token))
	}
	if m.Holder == "" {
		errs = append(errs, errors.New("the holder is empty"))
	}
	if y := m.End.UTC().Year(); y < 1 || y > 9999 || m.End.Nanosecond() != 0 {
		errs = append(errs, fmt.Errorf("the end %s is not in whole seconds of a year with four digits", m.End))
	}
	return errors.Join(errs...)
}

// Mark returns the window's mark; nil if it has none. A window with one that
// cannot be read, or with several, is an error.
func (w Window) Mark() (*Mark, error) {
	var found *Mark
	for _, a := range w.Applications {
		if !isMark(a) {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("it has a second mark of a lease: %q", a)
		}
		m, err := ParseMark(a)
		if err != nil {
			return nil, err
		}
		found = &m
	}
	return found, nil
}

// Names are the names or globs of Applications that the window is for, without
// its mark.
func (w Window) Names() []string {
	var names []string
	for _, a := range w.Applications {
		if !isMark(a) {
			names = append(names, a)
		}
	}
	return names
}
