package transport

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// object is one object of a tree.
type object struct {
	id  source.ID
	dir bool
}

// copyMissing writes those objects of the tree into the repository that neither
// it nor the checkout has, and says how many they were. A tree that is there is
// taken to be there with all that it names, unless every object is to be looked for.
func (r *Remote) copyMissing(ctx context.Context, repo *repository, tree source.Tree, every bool) (copied int, err error) {
	seen := map[source.ID]bool{tree.ID: true}
	level := []object{{tree.ID, true}}
	for len(level) > 0 {
		has, err := r.git.has(ctx, repo, level)
		if err != nil {
			return copied, err
		}
		var next []object
		for i, o := range level {
			if has[i] && !(every && o.dir) {
				continue
			}
			if !o.dir {
				if err := copyBlob(ctx, repo, tree.Objects, o.id); err != nil {
					return copied, err
				}
				copied++
				continue
			}
			entries, err := tree.Objects.Tree(ctx, o.id)
			if err != nil {
				return copied, &readError{err}
			}
			if !has[i] {
				if err := repo.write("tree", o.id, source.EncodeTree(entries)); err != nil {
					return copied, err
				}
				copied++
			}
			for _, e := range entries {
				if e.Mode != source.ModeSubmodule && !seen[e.ID] {
					seen[e.ID] = true
					next = append(next, object{e.ID, e.Mode == source.ModeDir})
				}
			}
		}
		level = next
	}
	return copied, nil
}

func copyBlob(ctx context.Context, repo *repository, objects source.Objects, id source.ID) error {
	content, size, err := objects.Blob(ctx, id)
	if err != nil {
		return &readError{err}
	}
	defer content.Close()
	return repo.stream(ctx, "blob", id, content, size)
}

// has says of each object whether the repository has it, or borrows it.
func (g *git) has(ctx context.Context, repo *repository, objects []object) ([]bool, error) {
	var ids bytes.Buffer
	for _, o := range objects {
		ids.WriteString(string(o.id))
		ids.WriteByte('\n')
	}
	out, err := g.run(ctx, repo, nil, ids.Bytes(), "cat-file", "--buffer", "--batch-check=%(objecttype)")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(objects) {
		return nil, fmt.Errorf("git cat-file answered %d of %d questions", len(lines), len(objects))
	}
	has := make([]bool, len(objects))
	for i, line := range lines { // <type>, or <id> SP missing
		has[i] = !strings.HasSuffix(line, " missing")
	}
	return has, nil
}
