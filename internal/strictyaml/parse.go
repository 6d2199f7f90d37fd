package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

const (
	// MaxSize is the most bytes that a file may have.
	MaxSize = 1 << 20
	// MaxDepth is the most levels that values may nest.
	MaxDepth = 32
)

// Parse splits a file into its documents; empty ones are left out. The name of
// the file is used for errors only. The error is an *Errors, for a file that is
// too large or is no YAML; problems of a document are in its own error.
func Parse(file string, data []byte) ([]*Document, error) {
	fail := func(line int, format string, args ...any) ([]*Document, error) {
		return nil, &Errors{List: []*Error{{File: file, Line: line, Message: fmt.Sprintf(format, args...)}}}
	}
	if len(data) > MaxSize {
		return fail(0, "is larger than %d bytes", MaxSize)
	}
	if line, bad := unreadable(data); bad != "" {
		return fail(line, "%s", bad)
	}
	var docs []*Document
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var n yaml.Node
		err := decoder.Decode(&n)
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			line, message := syntax(err, data)
			return fail(line, "%s", message)
		}
		if len(n.Content) != 1 || isEmpty(n.Content[0]) {
			continue
		}
		doc := &Document{file: file, root: n.Content[0]}
		doc.inspect(doc.root, "", 1)
		docs = append(docs, doc)
	}
}

func isEmpty(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Value == "" && n.Tag == "!!null" && n.Anchor == ""
}

// unreadable finds the first line with what YAML does not allow, since the
// parser does not say where it is.
func unreadable(data []byte) (line int, message string) {
	for i, text := range bytes.Split(data, []byte("\n")) {
		if !utf8.Valid(text) {
			return i + 1, "is not UTF-8 text"
		}
		for _, r := range string(text) {
			if r < ' ' && r != '\t' && r != '\r' || r == 0x7f {
				return i + 1, fmt.Sprintf("has the control character %U", r)
			}
		}
	}
	return 0, ""
}

var (
	syntaxError   = regexp.MustCompile(`^yaml: (?:line (\d+): )?((?s).*)$`)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// syntax takes the parser's error apart and adds what people trip over.
func syntax(err error, data []byte) (line int, message string) {
	message = err.Error()
	if m := syntaxError.FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1])
		message = m[2]
	}
	if m := unknownAnchor.FindStringSubmatch(message); m != nil {
		star := "*" + m[1]
		for i, text := range strings.Split(string(data), "\n") {
			if strings.Contains(text, star) {
				line = i + 1
				break
			}
		}
		return line, fmt.Sprintf("put a value that begins with * in quotes: YAML takes %s for an alias", short(star))
	}
	if strings.HasPrefix(message, "did not find expected alphabetic or numeric character") {
		message += "; put a value that begins with * or & in quotes"
	}
	return line, message
}
