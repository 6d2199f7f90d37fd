package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/pharos-dev/pharos/catalogue/source/internal/odb"
)

// ErrUnsupported is returned by Open for a repository of a layout that cannot be
// read, such as one whose references are not files.
var ErrUnsupported = errors.New("unsupported kind of repository")

// Repository is a Git repository on disk. It is safe for concurrent use, and
// beside running git commands. It is read as it stands: what is committed,
// packed or pruned later is noticed.
type Repository struct {
	root, gitDir string
	bare         bool
	refs         refs
	objects      *gitObjects
}

// Open opens the repository around a folder: the one whose checkout, or whose
// bare folder, dir is or lies in. Symbolic links in dir are resolved first, as
// git does. Errors: ErrNoRepository, also if there is no folder dir;
// ErrUnsupported.
func Open(dir string) (*Repository, error) {
	root, gitDir, err := find(dir)
	if err != nil {
		return nil, err
	}
	common, err := commonDir(gitDir)
	if err != nil {
		return nil, err
	}
	settings, err := readConfig(filepath.Join(common, "config"))
	if err != nil {
		return nil, fmt.Errorf("read the configuration of the repository %s: %w", root, err)
	}
	format, partial, err := supported(settings)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", root, err)
	}
	alternates, err := alternates(filepath.Join(common, "objects"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", root, err)
	}
	objects := &gitObjects{db: odb.New(append([]string{filepath.Join(common, "objects")}, alternates...), format), partial: partial}
	return &Repository{root: root, gitDir: gitDir, bare: root == gitDir, refs: refs{gitDir, common}, objects: objects}, nil
}

// supported checks the extensions, see Git's Documentation/technical/
// repository-version.txt. One that is not known may change anything. It says of
// which format the object IDs are, and whether a remote has promised the objects
// that are missing.
func supported(settings []setting) (format odb.Format, partial bool, err error) {
	for _, s := range settings {
		ok := true
		switch s.section + "." + s.key {
		case "core.repositoryformatversion":
			ok = s.value == "0" || s.value == "1"
		case "extensions.objectformat":
			format, ok = formats[s.value]
		case "extensions.refstorage":
			ok = s.value == "files"
		case "extensions.noop", "extensions.noop-v1", "extensions.partialclone", "extensions.preciousobjects",
			"extensions.worktreeconfig", "extensions.relativeworktrees":
		case "remote.promisor":
			partial = partial || s.value == "true"
		default:
			ok = s.section != "extensions"
		}
		if !ok {
			return format, false, fmt.Errorf("%w: its %s.%s is %q", ErrUnsupported, s.section, s.key, s.value)
		}
	}
	return format, partial, nil
}

var formats = map[string]odb.Format{"sha1": odb.SHA1, "sha256": odb.SHA256}

// Root returns the absolute path of the checkout, or of a bare repository.
func (r *Repository) Root() string { return r.root }

// GitDir returns the absolute path of the checkout's own Git folder: in a linked
// worktree not the one that it shares.
func (r *Repository) GitDir() string { return r.gitDir }

// Commit resolves a revision, see the package comment for its forms; "" is
// HEAD. Errors: ErrUnborn for HEAD of a repository without commits;
// ErrUnknownRevision, naming rev, for one that names no commit or several,
// which matches ErrNotFound too if an object it leads to is missing;
// ErrMalformed and ErrTooLarge for a commit object that Git would not have
// written; ErrCorrupt; those of reading files.
func (r *Repository) Commit(ctx context.Context, rev string) (Commit, error) {
	if rev == "" {
		rev = "HEAD"
	}
	c, err := r.resolve(ctx, rev)
	switch {
	case ctx.Err() != nil:
		return Commit{}, ctx.Err()
	case err != nil && isFault(err):
		return Commit{}, fmt.Errorf("%s in %s: %w", rev, r.root, err)
	case err != nil:
		return Commit{}, fmt.Errorf("%w %q in %s: %w", ErrUnknownRevision, rev, r.root, err)
	}
	return c, nil
}

// isFault holds for errors that do not say that there is no such revision.
func isFault(err error) bool {
	var file *fs.PathError
	return errors.Is(err, ErrUnborn) || errors.Is(err, ErrMalformed) || errors.Is(err, ErrCorrupt) || errors.Is(err, ErrTooLarge) ||
		errors.As(err, &file)
}
