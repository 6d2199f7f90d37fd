package guardian

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

const (
	// longestRequest is that of a line of a client.
	longestRequest = 64 << 10
	// longestID is that of a Request.
	longestID = 64
)

// Refusal is the answer to a line that is no request; id is what was read of it, if it is
// not too long.
func Refusal(id string, err error) Line {
	if len(id) > longestID {
		id = ""
	}
	return Line{Version: Version, Type: LineAnswer, ID: id, Error: err.Error(), Class: "usage"}
}

// all names them for people.
func all(ops []Op) string {
	names := make([]string, len(ops))
	for i, op := range ops {
		names[i] = string(op)
	}
	return strings.Join(names, ", ")
}

// ParseRequest reads a line to a guardian. What it does not know is refused: a misspelt
// "workloads" would ask for all of them.
func ParseRequest(line []byte) (Request, error) {
	var r Request
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, fmt.Errorf("the request cannot be read: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return r, errors.New("the request is followed by something else")
	}
	if r.Version != Version {
		return r, fmt.Errorf("the request is of version %d, and this guardian speaks %d", r.Version, Version)
	}
	if len(r.ID) > longestID {
		return r, fmt.Errorf("the request's id has more than %d bytes", longestID)
	}
	if !slices.Contains(ops, r.Op) {
		return r, fmt.Errorf("%q is nothing that can be asked for: op is one of %s", r.Op, all(ops))
	}
	return r, nil
}
