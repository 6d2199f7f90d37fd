package catalogue

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// walker reads the objects of one tree for several prunings: images share most
// of their inputs, so every tree object is read and summarized once. It is safe
// for concurrent use.
type walker struct {
	under source.Objects

	mu        sync.Mutex
	trees     map[source.ID][]source.Entry
	summaries map[source.ID]*summary
}

func newWalker(objects source.Objects) *walker {
	return &walker{under: objects, trees: map[source.ID][]source.Entry{}, summaries: map[source.ID]*summary{}}
}

var _ source.Objects = (*walker)(nil)

func (w *walker) Tree(ctx context.Context, id source.ID) ([]source.Entry, error) {
	w.mu.Lock()
	entries, ok := w.trees[id]
	w.mu.Unlock()
	if ok {
		return entries, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := w.under.Tree(ctx, id)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.trees[id] = entries
	w.mu.Unlock()
	return entries, nil
}

func (w *walker) Blob(ctx context.Context, id source.ID) (io.ReadCloser, int64, error) {
	return w.under.Blob(ctx, id)
}

// summary is what has to be known of a directory that is taken as a whole.
type summary struct {
	files      int
	links      []string // paths of symbolic links
	submodules []string // paths
	// hollow says that the directory holds one without files. Git writes none,
	// so a tree of just the files has another ID.
	hollow bool
}

// add adds what the directory at path holds.
func (s *summary) add(path string, inside *summary) {
	s.files += inside.files
	for _, l := range inside.links {
		s.links = append(s.links, path+"/"+l)
	}
	for _, m := range inside.submodules {
		s.submodules = append(s.submodules, path+"/"+m)
	}
	s.hollow = s.hollow || inside.hollow
}

// summarize summarizes the directory of that ID; path is for errors.
func (w *walker) summarize(ctx context.Context, path string, id source.ID) (*summary, error) {
	w.mu.Lock()
	s := w.summaries[id]
	w.mu.Unlock()
	if s != nil {
		return s, nil
	}
	if err := checkDepth(path); err != nil {
		return nil, err
	}
	entries, err := w.Tree(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read directory %q: %w", path, err)
	}
	s = &summary{hollow: len(entries) == 0}
	for _, e := range entries {
		switch e.Mode {
		case source.ModeDir:
			inside, err := w.summarize(ctx, path+"/"+e.Name, e.ID)
			if err != nil {
				return nil, err
			}
			s.add(e.Name, inside)
		case source.ModeSubmodule:
			s.submodules = append(s.submodules, e.Name)
		case source.ModeSymlink:
			s.links = append(s.links, e.Name)
			s.files++
		default:
			s.files++
		}
	}
	w.mu.Lock()
	w.summaries[id] = s
	w.mu.Unlock()
	return s, nil
}

// maxPath is how long the path of a directory may be, in bytes: the PATH_MAX of
// Linux. It bounds how deep a walk goes into a tree that nobody could check out.
const maxPath = 4096

func checkDepth(path string) error {
	if len(path) > maxPath {
		return fmt.Errorf("%w: the path of a directory is longer than %d bytes: %s…", source.ErrMalformed, maxPath, path[:80])
	}
	return nil
}
