package dockerfile

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// File is a Dockerfile that was parsed. It is not modified after Parse and safe
// for concurrent use.
type File struct {
	// Path is where the Dockerfile lies in its tree, slash-separated.
	Path string
	// Frontend is the image reference that the Dockerfile's syntax line names,
	// as it is written there; "" if there is none. It is an image that takes
	// part in the build, as the bases do.
	Frontend string

	escape rune
	args   []instructions.ArgCommand
	stages []instructions.Stage
}

// ParseError says what is wrong with a Dockerfile, and where.
type ParseError struct {
	Path   string
	Line   int // counted from 1; 0 if it is about the file as a whole
	Reason string
}

func (e *ParseError) Error() string {
	at := e.Path
	if e.Line > 0 {
		at += ":" + strconv.Itoa(e.Line)
	}
	return at + ": " + e.Reason
}

// Parse parses the Dockerfile that lies at path in its tree. The error is a
// *ParseError.
func Parse(path string, content []byte) (*File, error) {
	f := &File{Path: path}
	if len(content) > source.MaxFile {
		return nil, &ParseError{Path: path, Reason: fmt.Sprintf("has %d bytes, at most %d are read", len(content), source.MaxFile)}
	}
	f.Frontend, _, _, _ = parser.DetectSyntax(content)
	ast, err := parser.Parse(bytes.NewReader(content))
	if err != nil {
		return nil, f.located(err)
	}
	f.escape = ast.EscapeToken
	f.stages, f.args, err = instructions.Parse(ast.AST, nil)
	if err != nil {
		return nil, f.located(err)
	}
	if len(f.stages) == 0 {
		return nil, &ParseError{Path: path, Reason: "has no FROM line"}
	}
	return f, nil
}

// located gives an error of BuildKit's parser the form of this package's.
func (f *File) located(err error) error {
	line := 0
	var at *parser.LocationError
	if errors.As(err, &at) && len(at.Locations) > 0 && len(at.Locations[0]) > 0 {
		line = at.Locations[0][0].Start.Line
		err = at.Unwrap()
	}
	return &ParseError{Path: f.Path, Line: line, Reason: err.Error()}
}
