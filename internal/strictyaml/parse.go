package strictyaml

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
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
	text := newText(data)
	if line, bad := text.unreadable(); bad != "" {
		return fail(line, "%s", bad)
	}
	var docs []*Document
	decoder := yaml.NewDecoder(strings.NewReader(text.all))
	for {
		var n yaml.Node
		err := decoder.Decode(&n)
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			line, message := syntax(err, text)
			return fail(line, "%s", message)
		}
		if len(n.Content) != 1 || isEmpty(n.Content[0]) {
			continue
		}
		doc := &Document{file: file, text: text, root: n.Content[0]}
		doc.inspect(doc.root, "", 1)
		docs = append(docs, doc)
	}
}

func isEmpty(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Value == "" && n.Tag == "!!null" && n.Anchor == ""
}

var (
	syntaxError   = lazyregexp.New(`^yaml: (?:line (\d+): )?((?s).*)$`)
	unknownAnchor = lazyregexp.New(`^unknown anchor '(.*)' referenced$`)
	// grammarError are the problems whose lines the parser counts from 0; it
	// counts those of single tokens from 1.
	grammarError = lazyregexp.New(`^(?:did not find expected (?:',' or|'-' indicator|<|key|node content)|` +
		`found (?:duplicate %|incompatible YAML|undefined tag))`)
)

// syntax takes the parser's error apart and adds what people trip over.
func syntax(err error, text *text) (line int, message string) {
	message = err.Error()
	if m := syntaxError.FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1])
		message = m[2]
	}
	if m := unknownAnchor.FindStringSubmatch(message); m != nil {
		star := "*" + m[1]
		return text.find(star), fmt.Sprintf("put a value that begins with * in quotes: YAML takes %s for an alias", short(star))
	}
	if line == 0 || grammarError.MatchString(message) {
		line++
	}
	line = min(line, len(text.lines))
	switch {
	case strings.HasPrefix(message, "did not find expected alphabetic or numeric character"):
		message += "; put a value that begins with * or & in quotes"
	case strings.HasPrefix(message, "did not find expected whitespace or line break"), strings.HasPrefix(message, "did not find expected tag URI"):
		message += "; put a value that begins with ! in quotes"
	case strings.HasPrefix(message, "found character that cannot start any token"):
		message += "; put a value that begins with @, ` or % in quotes, and indent with spaces"
	}
	return line, message
}
