package source

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source/internal/odb"
)

// ErrMalformed is returned for an object that Git would not have written, or
// would not check out.
var ErrMalformed = errors.New("malformed object")

// ParseTree parses the content of a tree object, without its header. idLen is
// the length of a binary object ID in bytes: 20 for SHA-1, 32 for SHA-256. Modes
// that old versions of Git wrote are returned as it reads them: the permission
// bits of a file count only for whether its owner may execute it. The error
// matches ErrMalformed.
func ParseTree(raw []byte, idLen int) ([]Entry, error) {
	least := len("7 a\x00") + idLen // bytes of an entry: spaces alone could stand for too many
	entries := make([]Entry, 0, min(bytes.Count(raw, []byte{' '}), len(raw)/least))
	// One string holds the names and IDs of all entries.
	var text strings.Builder
	text.Grow(len(raw) + idLen*cap(entries))
	var id [64]byte
	for len(raw) > 0 {
		n := bytes.IndexByte(raw, 0)
		if n < 0 || len(raw)-n-1 < idLen {
			return nil, fmt.Errorf("%w: the tree ends within an entry", ErrMalformed)
		}
		mode, name, ok := bytes.Cut(raw[:n], []byte{' '})
		if !ok {
			return nil, fmt.Errorf("%w: an entry without a name", ErrMalformed)
		}
		m, err := parseMode(mode)
		if err != nil {
			return nil, fmt.Errorf("%w: entry %q: %w", ErrMalformed, name, err)
		}
		start := text.Len()
		text.Write(name)
		text.Write(hex.AppendEncode(id[:0], raw[n+1:n+1+idLen]))
		both := text.String()[start:]
		entries = append(entries, Entry{Name: both[:len(name)], Mode: m, ID: ID(both[len(name):])})
		raw = raw[n+1+idLen:]
	}
	if err := checkOrder(entries); err != nil {
		return nil, err
	}
	return entries, nil
}

func parseMode(text []byte) (Mode, error) {
	switch string(text) { // almost all of them
	case "100644":
		return ModeFile, nil
	case "40000":
		return ModeDir, nil
	}
	s := string(text)
	v, err := strconv.ParseUint(s, 8, 32)
	if err != nil || len(s) > 6 {
		return 0, fmt.Errorf("its mode %q is no octal number of six digits", s)
	}
	m := Mode(v)
	if m&^0o777 == 0o100000 { // Git once wrote a file's full permissions
		if m&0o100 != 0 {
			return ModeExecutable, nil
		}
		return ModeFile, nil
	}
	if !m.valid() {
		return 0, fmt.Errorf("its mode %q is none that Git writes", s)
	}
	return m, nil
}

func (m Mode) valid() bool {
	return m == ModeDir || m == ModeFile || m == ModeExecutable || m == ModeSymlink || m == ModeSubmodule
}

// IsFile says whether the mode is one of a regular file.
func (m Mode) IsFile() bool { return m&0o170000 == 0o100000 }

// IsExecutable says whether the mode is one of an executable file.
func (m Mode) IsExecutable() bool { return m.IsFile() && m&0o100 != 0 }

// CheckEntries reports the first entry that a tree object may not hold: a bad
// name, mode or ID, a duplicate, or one out of Git's order. The error matches
// ErrMalformed.
func CheckEntries(entries []Entry) error {
	for _, e := range entries {
		if !isID(e.ID) || len(e.ID) != len(entries[0].ID) {
			return badID(e)
		}
	}
	return checkOrder(entries)
}

// checkOrder is CheckEntries for entries whose IDs are known to be some.
func checkOrder(entries []Entry) error {
	for i := range entries {
		e := &entries[i]
		if err := checkName(e.Name); err != nil {
			return err
		}
		if !e.Mode.valid() {
			return fmt.Errorf("%w: entry %q: its mode is %o", ErrMalformed, e.Name, e.Mode)
		}
		if i == 0 {
			continue
		}
		if entries[i-1].Name == e.Name {
			return fmt.Errorf("%w: %q stands twice", ErrMalformed, e.Name)
		}
		if compareEntries(entries[i-1], *e) >= 0 {
			return fmt.Errorf("%w: %q is out of order", ErrMalformed, e.Name)
		}
		// A file of the same name need not be its neighbour: "a", "a.b", "a/".
		if e.Mode != ModeDir || !strings.HasPrefix(entries[i-1].Name, e.Name) {
			continue
		}
		if _, twice := slices.BinarySearchFunc(entries[:i], Entry{Name: e.Name}, compareEntries); twice {
			return fmt.Errorf("%w: %q stands twice", ErrMalformed, e.Name)
		}
	}
	return nil
}

func badID(e Entry) error {
	return fmt.Errorf("%w: entry %q: its ID is %q", ErrMalformed, e.Name, e.ID)
}

func isID(id ID) bool {
	if len(id) != 2*odb.SHA1.Size() && len(id) != 2*odb.SHA256.Size() {
		return false
	}
	var invalid byte
	for i := range len(id) {
		invalid |= digits[id[i]]
	}
	return invalid < 0x10
}

// compareEntries is Git's order: bytewise, a directory as if its name ended
// with a slash.
func compareEntries(a, b Entry) int {
	n := min(len(a.Name), len(b.Name))
	if c := strings.Compare(a.Name[:n], b.Name[:n]); c != 0 {
		return c
	}
	return cmp.Compare(byteAfter(a, n), byteAfter(b, n))
}

func byteAfter(e Entry, n int) byte {
	switch {
	case n < len(e.Name):
		return e.Name[n]
	case e.Mode == ModeDir:
		return '/'
	}
	return 0
}

// SortEntries sorts entries in Git's order.
func SortEntries(entries []Entry) { slices.SortFunc(entries, compareEntries) }
