package runtime

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
)

const (
	maxProblems = 50
	maxMessage  = 1000
)

// place is how the go command writes where in a file something is.
var place = lazyregexp.New(`^(.+?\.[a-z]+):([0-9]{1,9})(?::([0-9]{1,9}))?: (.*)$`)

// problems reads what the go command printed in a folder, for a working tree.
func problems(output, dir, root string) []Problem {
	var found []Problem
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\r\n")
		text := strings.TrimSpace(line)
		switch {
		case text == "" || strings.HasPrefix(line, "# "): // the package's name
			continue
		case (line[0] == '\t' || line[0] == ' ') && len(found) > 0:
			last := &found[len(found)-1]
			last.Message = cut(last.Message + "; " + text)
			continue
		case len(found) == maxProblems:
			return found
		}
		p := Problem{Message: cut(text)}
		if at := place.FindStringSubmatch(line); at != nil {
			p.File = fromRoot(at[1], dir, root)
			p.Line, _ = strconv.Atoi(at[2])
			p.Column, _ = strconv.Atoi(at[3])
			p.Message = cut(at[4])
		}
		found = append(found, p)
	}
	return found
}

func fromRoot(file, dir, root string) string {
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	if rel, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(rel) {
		file = rel
	}
	return filepath.ToSlash(file)
}

func cut(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + "…"
}
