package catalogue

import (
	"context"
	"fmt"
	"io"
	"slices"
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

// checkLink follows the link at path, as a kernel would, within the tree.
func checkLink(ctx context.Context, tree source.Tree, path string) error {
	names := strings.Split(path, "/")
	f := &follower{tree: tree, dirs: []source.ID{tree.ID}}
	for _, name := range names[:len(names)-1] {
		e, err := f.entry(ctx, name)
		if err != nil {
			return err
		}
		f.enter(name, e.ID)
	}
	e, err := f.entry(ctx, names[len(names)-1])
	if err != nil {
		return err
	}
	target, err := readLink(ctx, tree.Objects, e.ID)
	if err != nil {
		return fmt.Errorf("read symbolic link %s: %w", path, err)
	}
	reason, err := f.follow(ctx, target)
	if err != nil {
		return fmt.Errorf("follow symbolic link %s: %w", path, err)
	}
	if reason != "" {
		return &SymlinkError{Path: path, Target: target, Reason: reason}
	}
	return nil
}

// follower stands in a directory of the tree.
type follower struct {
	tree  source.Tree
	names []string
	dirs  []source.ID // the root and one for each name
}

func (f *follower) enter(name string, id source.ID) {
	f.names, f.dirs = append(f.names, name), append(f.dirs, id)
}

// entry returns the entry name of the directory, the zero Entry if there is
// none.
func (f *follower) entry(ctx context.Context, name string) (source.Entry, error) {
	entries, err := f.tree.Objects.Tree(ctx, f.dirs[len(f.dirs)-1])
	if err != nil {
		return source.Entry{}, err
	}
	if i := slices.IndexFunc(entries, func(e source.Entry) bool { return e.Name == name }); i >= 0 {
		return entries[i], nil
	}
	return source.Entry{}, nil
}

// follow goes where target leads from the directory and returns why it leads
// nowhere.
func (f *follower) follow(ctx context.Context, target string) (reason string, err error) {
	rest := []string{}
	next := target
	for hops := 1; ; hops++ {
		switch {
		case hops > maxLinkHops:
			return "it leads round in a circle, or through too many links", nil
		case next == "":
			return "the target of a link is empty", nil
		case strings.HasPrefix(next, "/"):
			return "the target is an absolute path, outside of the tree: write it relative to the link, or exclude the link", nil
		case len(next) > maxLinkTarget:
			return fmt.Sprintf("the target is longer than %d bytes", maxLinkTarget), nil
		}
		rest = append(strings.Split(next, "/"), rest...)
		link, reason, err := f.walk(ctx, &rest)
		if err != nil || reason != "" || link == "" {
			return reason, err
		}
		if next, err = readLink(ctx, f.tree.Objects, link); err != nil {
			return "", err
		}
	}
}

// walk goes along rest until its end or the first link, whose ID it returns,
// and leaves in rest what is still to be gone.
func (f *follower) walk(ctx context.Context, rest *[]string) (link source.ID, reason string, err error) {
	for len(*rest) > 0 {
		name := (*rest)[0]
		*rest = (*rest)[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			if len(f.names) == 0 {
				return "", "the target is outside of the tree: exclude the link", nil
			}
			f.names, f.dirs = f.names[:len(f.names)-1], f.dirs[:len(f.dirs)-1]
			continue
		}
		e, err := f.entry(ctx, name)
		if err != nil {
			return "", "", err
		}
		at := strings.Join(append(slices.Clone(f.names), name), "/")
		switch e.Mode {
		case 0:
			return "", fmt.Sprintf("%s is not among the inputs: add it to them, or exclude the link", at), nil
		case source.ModeDir:
			f.enter(name, e.ID)
		case source.ModeSymlink:
			return e.ID, "", nil
		default:
			if len(*rest) > 0 {
				return "", at + " is not a directory", nil
			}
		}
	}
	return "", "", nil
}

func readLink(ctx context.Context, objects source.Objects, id source.ID) (string, error) {
	content, _, err := objects.Blob(ctx, id)
	if err != nil {
		return "", err
	}
	defer content.Close()
	target, err := io.ReadAll(io.LimitReader(content, maxLinkTarget+1))
	return string(target), err
}
