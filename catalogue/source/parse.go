package source

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrMalformed is returned for a tree object that Git would not have written.
var ErrMalformed = errors.New("malformed tree object")

// ParseTree parses the content of a tree object, without its header. idLen is
// the length of a binary object ID in bytes: 20 for SHA-1, 32 for SHA-256. The
// error matches ErrMalformed.
func ParseTree(raw []byte, idLen int) ([]Entry, error) {
	var entries []Entry
	for len(raw) > 0 {
		head, rest, ok := bytes.Cut(raw, []byte{0})
		if !ok || len(rest) < idLen {
			return nil, fmt.Errorf("%w: it ends within an entry", ErrMalformed)
		}
		mode, name, ok := strings.Cut(string(head), " ")
		if !ok {
			return nil, fmt.Errorf("%w: an entry without a name", ErrMalformed)
		}
		m, err := parseMode(mode)
		if err != nil {
			return nil, fmt.Errorf("%w: entry %q: %w", ErrMalformed, name, err)
		}
		entries = append(entries, Entry{Name: name, Mode: m, ID: ID(hex.EncodeToString(rest[:idLen]))})
		raw = rest[idLen:]
	}
	return entries, CheckEntries(entries)
}

func parseMode(s string) (Mode, error) {
	v, err := strconv.ParseUint(s, 8, 32)
	if err != nil || len(s) > 6 {
		return 0, fmt.Errorf("its mode %q is no octal number", s)
	}
	switch m := Mode(v); m {
	case ModeDir, ModeFile, ModeExecutable, ModeSymlink, ModeSubmodule:
		return m, nil
	case 0o100664, 0o100600, 0o100640: // written by very old versions of Git
		return m, nil
	}
	return 0, fmt.Errorf("its mode %q is none that Git writes", s)
}

// IsFile says whether the mode is one of a regular file.
func (m Mode) IsFile() bool { return m&0o170000 == 0o100000 }

// IsExecutable says whether the mode is one of an executable file.
func (m Mode) IsExecutable() bool { return m.IsFile() && m&0o100 != 0 }

// CheckEntries reports the first entry that a tree object may not hold: a bad
// name, a duplicate, or one out of Git's order. The error matches ErrMalformed.
func CheckEntries(entries []Entry) error {
	names := make(map[string]struct{}, len(entries))
	for i, e := range entries {
		if err := checkName(e.Name); err != nil {
			return err
		}
		if _, twice := names[e.Name]; twice {
			return fmt.Errorf("%w: %q stands twice", ErrMalformed, e.Name)
		}
		names[e.Name] = struct{}{}
		if i > 0 && compareEntries(entries[i-1], e) >= 0 {
			return fmt.Errorf("%w: %q is out of order", ErrMalformed, e.Name)
		}
	}
	return nil
}

func checkName(name string) error {
	if name == "" || name == "." || name == ".." || strings.EqualFold(name, ".git") || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%w: an entry is named %q", ErrMalformed, name)
	}
	return nil
}

// compareEntries is Git's order: bytewise, a directory as if its name ended
// with a slash.
func compareEntries(a, b Entry) int {
	n := min(len(a.Name), len(b.Name))
	if c := cmp.Compare(a.Name[:n], b.Name[:n]); c != 0 {
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

// EncodeTree returns the content of the tree object with these entries, which
// must be in Git's order.
func EncodeTree(entries []Entry) []byte {
	var b bytes.Buffer
	for _, e := range entries {
		b.WriteString(strconv.FormatUint(uint64(e.Mode), 8))
		b.WriteByte(' ')
		b.WriteString(e.Name)
		b.WriteByte(0)
		id, _ := hex.DecodeString(string(e.ID))
		b.Write(id)
	}
	return b.Bytes()
}

// HashTree returns the ID of the tree object with these entries, which must be
// in Git's order: SHA-256 if their IDs are, else SHA-1.
func HashTree(entries []Entry) ID {
	wide := len(entries) > 0 && len(entries[0].ID) == 2*sha256.Size
	return hashObject("tree", EncodeTree(entries), wide)
}

// HashBlob returns the SHA-1 ID of a blob object.
func HashBlob(content []byte) ID { return hashObject("blob", content, false) }

func hashObject(kind string, content []byte, wide bool) ID {
	data := append([]byte(kind+" "+strconv.Itoa(len(content))+"\x00"), content...)
	if wide {
		sum := sha256.Sum256(data)
		return ID(hex.EncodeToString(sum[:]))
	}
	sum := sha1.Sum(data)
	return ID(hex.EncodeToString(sum[:]))
}
