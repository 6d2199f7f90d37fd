package catalogue

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// LFSError is returned by Prune for an input that is a Git LFS pointer: its
// content is not in the repository, and what would be built in is the pointer.
type LFSError struct {
	Path string // from the root of the tree
}

func (e *LFSError) Error() string {
	return fmt.Sprintf("%s is a Git LFS pointer, whose content is not in the repository: exclude it with \"!%s\", or keep the file itself in Git", e.Path, e.Path)
}

const (
	// attributesFile says which files of its directory go through filters
	// (https://git-scm.com/docs/gitattributes).
	attributesFile = ".gitattributes"
	// maxAttributes is how large a file is that is read, in bytes; a larger one
	// stands for all files.
	maxAttributes = 1 << 20
	// maxLFSLines is how many lines are told apart; more stand for all files.
	maxLFSLines = 1000
	// lfsSize is more than a pointer has, in bytes
	// (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md).
	lfsSize = 1024
)

// isLFSVersion says whether a line begins a pointer. Git LFS still takes those of
// the programs that it was before.
func isLFSVersion(line string) bool {
	switch line {
	case "version https://git-lfs.github.com/spec/v1", "version https://hawser.github.com/spec/v1", "version http://git-media.io/v/2":
		return true
	}
	return false
}

// lfsLines returns the patterns of the lines that send files through Git LFS, as
// they stand in a .gitattributes. Lines that take others back are not looked at:
// what is a pointer shows in its content.
func lfsLines(content []byte) []string {
	names := map[string]bool{"lfs": true} // of attributes that stand for filter=lfs
	var patterns []string
	for line := range strings.Lines(string(content)) {
		line = strings.Trim(line, " \t\r\n")
		if line == "" || line[0] == '#' {
			continue
		}
		pattern, rest := cutPattern(line)
		lfs := slices.ContainsFunc(strings.Fields(rest), func(a string) bool { return a == "filter=lfs" || names[a] })
		if name, isMacro := strings.CutPrefix(pattern, "[attr]"); isMacro {
			names[name] = lfs || names[name]
		} else if lfs {
			patterns = append(patterns, pattern)
		}
	}
	return patterns
}

// cutPattern takes a pattern, which may be in quotes, from the attributes.
func cutPattern(line string) (pattern, attributes string) {
	if quoted, err := strconv.QuotedPrefix(line); err == nil && line[0] == '"' {
		if pattern, err := strconv.Unquote(quoted); err == nil {
			return pattern, line[len(quoted):]
		}
	}
	if end := strings.IndexAny(line, " \t"); end >= 0 {
		return line[:end], line[end:]
	}
	return line, ""
}

// lfsPattern returns a pattern of this package that matches the files which a
// line in that directory does, and perhaps more.
func lfsPattern(dir, line string) (pattern, bool) {
	if strings.HasSuffix(line, "/") {
		return pattern{}, false // it names directories, which have no attributes
	}
	text, rooted := strings.CutPrefix(line, "/")
	if !rooted && !strings.Contains(text, "/") {
		text = "**/" + text
	}
	parts := strings.Split(text, "/")
	for i, part := range parts {
		if part != "**" {
			for strings.Contains(part, "**") {
				part = strings.ReplaceAll(part, "**", "*")
			}
			parts[i] = part
		}
	}
	prefix := ""
	if dir != "" {
		prefix = literally.Replace(dir) + "/"
	}
	for _, text := range []string{prefix + strings.Join(parts, "/"), prefix + "**", "**"} {
		if p, reason := parsePattern(text); reason == "" && !p.exclude {
			return p, true
		}
	}
	return pattern{}, false
}

// everyFile matches all files.
var everyFile = Patterns{[]pattern{{text: "**", segments: []segment{{kind: anyName}}}}}

// literally takes from the characters of a path what they mean in a pattern.
var literally = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "!", `\!`)

// lfs returns the lines of a .gitattributes. Copies of it are read once.
func (w *walker) lfs(ctx context.Context, id source.ID) ([]string, error) {
	w.mu.Lock()
	lines, known := w.attributes[id]
	w.mu.Unlock()
	if known {
		return lines, nil
	}
	content, size, err := w.Blob(ctx, id)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	lines = []string{"**"}
	if size <= maxAttributes {
		data, err := io.ReadAll(io.LimitReader(content, maxAttributes))
		if err != nil {
			return nil, err
		}
		lines = lfsLines(data)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.attributes[id] = lines
	return lines, nil
}
