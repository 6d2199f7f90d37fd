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

// SymlinkError is returned by Prune for a symbolic link among the inputs that
// does not lead to an input.
type SymlinkError struct {
	Path   string // the link, from the root of the tree
	Target string // as the link holds it
	Reason string
}

func (e *SymlinkError) Error() string {
	return fmt.Sprintf("symbolic link %s -> %s: %s", e.Path, e.Target, e.Reason)
}

const (
	maxLinkTarget = 4096 // bytes: PATH_MAX of Linux
	maxLinkHops   = 40   // links followed for one path: what Linux allows
)

// linkCheck looks at the symbolic links and submodules of a pruned tree, and
// gathers which files go through Git LFS.
type linkCheck struct {
	*walker
	full, pruned source.Tree
	patterns     Patterns
	followed     bool // the links of the pruned tree were followed before, to its files all of them
	steps        int
	refused      []error
	lfs          []pattern
}

// errEnough ends the walk of a linkCheck.
var errEnough = errors.New("enough was refused")

func (l *linkCheck) all(ctx context.Context, root *remains) error {
	l.followed = l.recall(root)
	err := l.dir(ctx, root, place{dirs: []source.ID{root.id}})
	switch {
	case errors.Is(err, errEnough):
		l.refused = append(l.refused, fmt.Errorf("more symbolic links and submodules are not looked at, since %d are refused", maxRefused))
	case err != nil:
		return err
	}
	if len(l.refused) == 0 {
		l.keep(root)
	}
	return errors.Join(l.refused...)
}

// dir looks at what is special in the directory at that place.
func (l *linkCheck) dir(ctx context.Context, r *remains, at place) error {
	for _, line := range r.lfs {
		if len(l.lfs) > maxLFSLines {
			break
		}
		if p, ok := lfsPattern(at.path(""), line); ok {
			l.lfs = append(l.lfs, p)
		}
	}
	for _, s := range r.special {
		if len(l.refused) == maxRefused {
			return errEnough
		}
		var err error
		switch s.Mode {
		case source.ModeDir:
			err = l.dir(ctx, s.inside, at.enter(s.Name, s.ID))
		case source.ModeSubmodule:
			l.refused = append(l.refused, &SubmoduleError{Path: at.path(s.Name)})
		default:
			if !l.followed {
				err = l.link(ctx, s.Entry, at)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// link follows a link from the directory at that place.
func (l *linkCheck) link(ctx context.Context, link source.Entry, at place) error {
	f := follower{linkCheck: l, tree: &l.pruned, place: at.clone()}
	if err := l.step(ctx, len(at.dirs)); err != nil {
		return err
	}
	target, err := l.target(ctx, link.ID)
	if err != nil {
		return fmt.Errorf("read symbolic link %s: %w", at.path(link.Name), err)
	}
	reason, err := f.follow(ctx, target)
	if err != nil {
		return fmt.Errorf("follow symbolic link %s: %w", at.path(link.Name), err)
	}
	if reason != "" {
		l.refused = append(l.refused, &SymlinkError{Path: at.path(link.Name), Target: target, Reason: reason})
	}
	return nil
}

func (l *linkCheck) step(ctx context.Context, n int) error {
	if l.steps += n; l.steps > maxLinkSteps {
		return &TooLargeError{What: "names on the way of symbolic links", Limit: maxLinkSteps}
	}
	return ctx.Err()
}

// place is a directory of a tree.
type place struct {
	names []string
	dirs  []source.ID // the root and one for each name
}

func (p place) enter(name string, id source.ID) place {
	return place{append(p.names, name), append(p.dirs, id)}
}

func (p place) leave() place {
	return place{p.names[:len(p.names)-1], p.dirs[:len(p.dirs)-1]}
}

func (p place) clone() place {
	return place{append([]string(nil), p.names...), append([]source.ID(nil), p.dirs...)}
}

func (p place) path(name string) string { return path.Join(path.Join(p.names...), name) }

// follower goes where a link leads, as a kernel would, within the tree.
type follower struct {
	*linkCheck
	place
	tree *source.Tree // the pruned one, or the full one from where that ends
	rest []string     // the names that are still to be gone
	// beyond is the first path that only the full tree has.
	beyond string
}

// follow goes where target leads from the directory and returns why it leads to
// no input.
func (f *follower) follow(ctx context.Context, target string) (reason string, err error) {
	for hops := 1; ; hops++ {
		switch {
		case hops > maxLinkHops:
			return "it leads round in a circle, or through too many links", nil
		case target == "":
			return "the target of a link is empty", nil
		case strings.HasPrefix(target, "/"):
			return "the target is an absolute path, outside of the tree: write it relative to the link, or exclude the link", nil
		case len(target) > maxLinkTarget:
			return fmt.Sprintf("the target is longer than %d bytes", maxLinkTarget), nil
		}
		f.rest = append(strings.Split(target, "/"), f.rest...)
		inside := f.beyond == ""
		at, link, reason, err := f.walk(ctx)
		if err != nil || reason != "" {
			return reason, err
		}
		if inside && strings.HasPrefix(at, f.beyond+"/") {
			f.beyond = at // all that is needed of a directory
		}
		switch {
		case link != "":
		case f.beyond != "":
			return f.beyond + " is not among the inputs: add it to them, or exclude the link", nil
		default:
			return "", nil
		}
		if target, err = f.target(ctx, link); err != nil {
			return "", err
		}
	}
}

// walk goes on until the end or the first link, whose ID it returns, and says
// where that is.
func (f *follower) walk(ctx context.Context) (at string, link source.ID, reason string, err error) {
	for len(f.rest) > 0 {
		name := f.rest[0]
		f.rest = f.rest[1:]
		if err := f.step(ctx, 1); err != nil {
			return "", "", "", err
		}
		switch name {
		case "", ".":
			continue
		case "..":
			if len(f.names) == 0 {
				return "", "", "the target is outside of the tree: exclude the link", nil
			}
			f.place = f.leave()
			continue
		}
		e, err := f.lookup(ctx, name)
		if err != nil {
			return "", "", "", err
		}
		switch e.Mode {
		case 0:
			return "", "", f.place.path(name) + " is not in the tree: correct the link, or exclude it", nil
		case source.ModeDir:
			f.place = f.enter(name, e.ID)
		case source.ModeSymlink:
			return f.place.path(name), e.ID, "", nil
		case source.ModeSubmodule:
			return "", "", f.place.path(name) + " is a submodule, whose files are not in this repository: exclude the link", nil
		default:
			if len(f.rest) > 0 {
				return "", "", f.place.path(name) + " is not a directory", nil
			}
			return f.place.path(name), "", "", nil
		}
	}
	return f.place.path(""), "", "", nil
}

// lookup returns the entry name of the directory, the zero Entry if there is
// none. What the pruned tree has not it looks for in the full one, and stays
// there.
func (f *follower) lookup(ctx context.Context, name string) (source.Entry, error) {
	e, err := f.entry(ctx, f.dirs[len(f.dirs)-1], name)
	if err != nil || e.Mode != 0 || f.tree == &f.full {
		return e, err
	}
	f.tree, f.beyond = &f.full, f.place.path(name)
	if err := f.step(ctx, len(f.names)); err != nil {
		return source.Entry{}, err
	}
	full := place{dirs: []source.ID{f.full.ID}}
	for i, name := range f.names {
		e, err := f.entry(ctx, full.dirs[i], name)
		if err != nil {
			return source.Entry{}, err
		}
		full = full.enter(name, e.ID)
	}
	f.place = full
	return f.lookup(ctx, name)
}

func (f *follower) entry(ctx context.Context, dir source.ID, name string) (source.Entry, error) {
	// A missing object and a missing name are both ErrNotFound to Lookup.
	if _, err := f.tree.Objects.Tree(ctx, dir); err != nil {
		return source.Entry{}, err
	}
	e, err := source.Tree{ID: dir, Objects: f.tree.Objects}.Lookup(ctx, name)
	if errors.Is(err, source.ErrNotFound) {
		return source.Entry{}, nil
	}
	return e, err
}

// target reads a symbolic link. Copies of it are read once.
func (w *walker) target(ctx context.Context, id source.ID) (string, error) {
	w.mu.Lock()
	known, ok := w.targets[id]
	w.mu.Unlock()
	if ok {
		return known, nil
	}
	content, _, err := w.Blob(ctx, id)
	if err != nil {
		return "", err
	}
	defer content.Close()
	target, err := io.ReadAll(io.LimitReader(content, maxLinkTarget+1))
	if err != nil {
		return "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.targets[id] = string(target)
	return string(target), nil
}
