package catalogue

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// collision is a set of entries of one directory that are one on a machine that
// ignores case.
type collision struct {
	dir     string // "" for the root
	entries []source.Entry
}

// maxCollisions is how many collisions are looked at: more than a person reads.
const maxCollisions = 1000

// caseLook looks for collisions in a whole tree.
type caseLook struct {
	source.Objects
	found []collision
	size  map[source.ID]int // entries below directories without collisions
}

// collisions finds the first of those of a whole tree. The error is a
// *TooLargeError if it stands for too much: then nobody should walk it.
func collisions(ctx context.Context, tree source.Tree) ([]collision, error) {
	look := caseLook{Objects: tree.Objects, size: map[source.ID]int{}}
	_, err := look.dir(ctx, "", tree.ID, 0)
	return look.found, err
}

// dir looks at a directory, before which that many entries were seen, and
// returns how many there are below it.
func (l *caseLook) dir(ctx context.Context, dir string, id source.ID, seen int) (int, error) {
	if size, clean := l.size[id]; clean {
		return size, tooMany(seen + size)
	}
	if err := checkDirPath(dir); err != nil {
		return 0, err
	}
	before := len(l.found)
	entries, err := l.Tree(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("read directory %q: %w", dir, err)
	}
	size := len(entries)
	if err := tooMany(seen + size); err != nil {
		return 0, err
	}
	if before < maxCollisions {
		l.found = append(l.found, collisionsIn(dir, entries)...)
	}
	for _, e := range entries {
		if e.Mode != source.ModeDir {
			continue
		}
		below, err := l.dir(ctx, path.Join(dir, e.Name), e.ID, seen+size)
		if err != nil {
			return 0, err
		}
		size += below
	}
	if len(l.found) == before {
		l.size[id] = size
	}
	return size, nil
}

func collisionsIn(dir string, entries []source.Entry) []collision {
	first := make(map[string]int, len(entries)) // by folded name
	var found []collision
	at := map[string]int{} // places in found
	for i, e := range entries {
		folded := foldCase(e.Name)
		one, taken := first[folded]
		if !taken {
			first[folded] = i
			continue
		}
		place, known := at[folded]
		if !known {
			place = len(found)
			at[folded] = place
			found = append(found, collision{dir, []source.Entry{entries[one]}})
		}
		found[place].entries = append(found[place].entries, e)
	}
	return found
}

// foldCase gives names that differ by case only one form.
func foldCase(name string) string { return strings.ToLower(strings.ToUpper(name)) }

// checkCase finds inputs that are one file on a machine that ignores case.
func (w *walker) checkCase(ctx context.Context, inputs Patterns, all []collision) ([]Finding, error) {
	var findings []Finding
	for _, c := range all {
		other := ""
		for _, e := range c.entries {
			at := path.Join(c.dir, e.Name)
			chosen, err := w.choosesFrom(ctx, inputs, at, e)
			if err != nil {
				return nil, err
			}
			switch {
			case !chosen:
			case other == "":
				other = at
			default:
				findings = append(findings, Finding{Path: at, Message: fmt.Sprintf(
					"the inputs %s and %s differ by case only, so not every machine can hold both: rename one", other, at)})
			}
		}
	}
	return findings, nil
}

// choosesFrom says whether the entry at that path is an input, or holds one.
func (w *walker) choosesFrom(ctx context.Context, inputs Patterns, at string, e source.Entry) (bool, error) {
	if e.Mode != source.ModeDir {
		return inputs.Match(at), nil
	}
	left, err := (&pruning{walker: w}).dir(ctx, visit{path: at + "/", id: e.ID, cursor: w.texts.cursor(inputs).below(at)})
	if err != nil {
		return false, err
	}
	return left.id != "", nil
}
