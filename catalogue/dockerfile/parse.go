package dockerfile

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// File is a Dockerfile that was parsed. It is not modified after Parse and safe
// for concurrent use.
type File struct {
	// Path is where the Dockerfile lies in its tree, slash-separated.
	Path string
	// Frontend is the image reference that the Dockerfile's syntax line names,
	// as it is written there; "" if there is none. The image takes part in the
	// build, as the bases do. See Plan.Frontend too.
	Frontend string

	ast    *parser.Node
	escape rune
}

// ParseError says what is wrong with a Dockerfile, or with its ignore file, and
// where.
type ParseError struct {
	Path   string // of the file: of the Dockerfile, as it was given to Parse
	Line   int    // of the instruction, counted from 1; 0 if it is about the file as a whole
	Reason string
}

// Error is "path:line: reason".
func (e *ParseError) Error() string {
	at := e.Path
	if e.Line > 0 {
		at += ":" + strconv.Itoa(e.Line)
	}
	return at + ": " + e.Reason
}

// Parse parses the Dockerfile that lies at path in its tree, a slash-separated
// path from the root. content may have MaxSize bytes and MaxInstructions
// instructions. The error is a *ParseError; BuildKit's parser stops at the first.
func Parse(path string, content []byte) (*File, error) {
	f := &File{Path: path}
	if len(content) > MaxSize {
		return nil, f.errorf(0, "has %d bytes, at most %d are read", len(content), MaxSize)
	}
	frontend, _, at, isSet := parser.DetectSyntax(content)
	if isSet {
		if err := checkReference(frontend); err != nil {
			return nil, f.errorf(firstLine(at), "the syntax line names %q, which %v", frontend, err)
		}
		f.Frontend = frontend
	}
	if err := f.parse(content); err != nil {
		if isSet && !startsWithComment(content) {
			// The frontend is free to read what it likes.
			err.Reason = fmt.Sprintf("is written for the frontend %s, not as a Dockerfile: %s", frontend, err.Reason)
		}
		return nil, err
	}
	return f, nil
}

func (f *File) parse(content []byte) *ParseError {
	result, err := parser.Parse(bytes.NewReader(content))
	if err != nil {
		return f.located(err)
	}
	if n := len(result.AST.Children); n > MaxInstructions {
		return f.errorf(0, "has %d instructions, at most %d are read", n, MaxInstructions)
	}
	f.ast, f.escape = result.AST, result.EscapeToken
	stages, _, err := f.instructions()
	if err != nil {
		return f.located(err)
	}
	if len(stages) == 0 {
		return f.errorf(0, "has no FROM instruction")
	}
	return nil
}

// instructions returns the Dockerfile's instructions, made anew: expanding one
// changes it.
func (f *File) instructions() ([]instructions.Stage, []instructions.ArgCommand, error) {
	return instructions.Parse(f.ast, silent())
}

// Stages returns the names of the stages, in lower case and the order of the
// file, without those that have none.
func (f *File) Stages() []string {
	stages, _, err := f.instructions()
	if err != nil {
		return nil // Parse has had them
	}
	var names []string
	for _, s := range stages {
		if s.Name != "" {
			names = append(names, strings.ToLower(s.Name))
		}
	}
	return names
}

// silent is a linter that says nothing. Without one, BuildKit's parser panics at
// a comment such as "# check=skip=all" behind the first instruction.
func silent() *linter.Linter { return linter.New(&linter.Config{}) }

// startsWithComment says whether the first line can be a Dockerfile's.
func startsWithComment(content []byte) bool {
	content = bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))
	return bytes.HasPrefix(bytes.TrimSpace(content), []byte("#"))
}

func (f *File) errorf(line int, format string, args ...any) *ParseError {
	return &ParseError{Path: f.Path, Line: line, Reason: fmt.Sprintf(format, args...)}
}

// located gives an error of BuildKit's parser the form of this package's.
func (f *File) located(err error) *ParseError {
	var at *parser.LocationError
	if !errors.As(err, &at) {
		return f.errorf(0, "%s", firstOf(err))
	}
	line := 0
	if len(at.Locations) > 0 {
		line = firstLine(at.Locations[0])
	}
	return f.errorf(line, "%s", firstOf(at.Unwrap()))
}

// firstOf is an error's first line: BuildKit quotes what it could not read,
// which may be long.
func firstOf(err error) string {
	const most = 400
	s, _, _ := strings.Cut(err.Error(), "\n")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

func firstLine(ranges []parser.Range) int {
	if len(ranges) == 0 {
		return 0
	}
	return ranges[0].Start.Line
}
