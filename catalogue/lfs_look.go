package catalogue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// pointers are the Git LFS pointers in a directory, by the paths from there.
type pointers struct {
	paths   []string
	entries int
	steps   int64 // as if nothing had been known
}

// lfsLook looks for pointers in the pruned tree of an image.
type lfsLook struct {
	*pruning
	tree source.Objects // of the pruned tree
}

// find returns the pointers below a directory among the files that the patterns
// match. What is found in the same directory under patterns that say the same of
// it is computed once for all images.
func (l *lfsLook) find(ctx context.Context, dir string, id source.ID, c cursor) (*pointers, error) {
	v := visit{id: id, cursor: c}.simplest()
	key := string(v.key(nil))
	l.mu.Lock()
	known := l.pointers[key]
	l.mu.Unlock()
	if known != nil {
		return known, l.look(known.entries, 0)
	}
	entries, err := l.tree.Tree(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read directory %q: %w", dir, err)
	}
	found := &pointers{entries: len(entries), steps: c.steps(entries)}
	if err := l.look(found.entries, found.steps); err != nil {
		return nil, err
	}
	for _, e := range entries {
		if err := l.entry(ctx, dir, e, c, found); err != nil {
			return nil, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pointers[key] = found
	return found, nil
}

func (l *lfsLook) entry(ctx context.Context, dir string, e source.Entry, c cursor, found *pointers) error {
	switch {
	case len(found.paths) > maxRefused:
	case e.Mode == source.ModeDir:
		child := c.child(e.Name)
		if child.coverage() == NoneInside {
			return nil
		}
		inside, err := l.find(ctx, path.Join(dir, e.Name), e.ID, child)
		if err != nil {
			return err
		}
		found.entries += inside.entries
		found.steps += inside.steps
		for _, p := range inside.paths {
			found.paths = append(found.paths, e.Name+"/"+p)
		}
	case e.Mode.IsFile() && c.file(e.Name):
		is, err := l.isPointer(ctx, e.ID)
		if err != nil {
			return fmt.Errorf("read %s: %w", path.Join(dir, e.Name), err)
		}
		if is {
			found.paths = append(found.paths, e.Name)
		}
	}
	return nil
}

// isPointer looks into a file only if it is as small as a pointer.
func (l *lfsLook) isPointer(ctx context.Context, id source.ID) (bool, error) {
	content, size, err := l.Blob(ctx, id)
	if err != nil {
		return false, err
	}
	defer content.Close()
	if size >= lfsSize {
		return false, nil
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(content, data); err != nil {
		return false, err
	}
	// As for Git LFS, blank lines before it and the ends of lines do not count.
	first, _, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	return isLFSVersion(strings.TrimSuffix(first, "\r")), nil
}

// refuseLFS returns an *LFSError for every pointer in a pruned tree, the first
// thousand of them joined.
func (p *pruning) refuseLFS(ctx context.Context, pruned source.Tree, lines []pattern) error {
	if len(lines) == 0 {
		return nil
	}
	if len(lines) > maxLFSLines {
		lines = everyFile.list
	}
	if none := p.recallNoPointers(pruned.ID, lines); none != nil {
		return p.look(none.entries, none.steps)
	}
	look := lfsLook{pruning: p, tree: pruned.Objects}
	found, err := look.find(ctx, "", pruned.ID, p.texts.cursor(Patterns{lines}))
	if err != nil {
		return err
	}
	if len(found.paths) == 0 {
		p.keepNoPointers(pruned.ID, lines, found)
	}
	var errs []error
	for _, at := range found.paths[:min(len(found.paths), maxRefused)] {
		errs = append(errs, &LFSError{Path: at})
	}
	if len(found.paths) > maxRefused {
		errs = append(errs, fmt.Errorf("more Git LFS pointers are not listed, since %d are refused", maxRefused))
	}
	return errors.Join(errs...)
}
