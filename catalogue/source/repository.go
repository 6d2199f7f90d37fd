package source

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

// ErrUnsupported is returned by Open for a repository of a layout that cannot be
// read, such as one with SHA-256 object IDs.
var ErrUnsupported = errors.New("unsupported kind of repository")

// Repository is a Git repository on disk. It is safe for concurrent use, and
// beside running git commands. It is read as it stands: what is committed,
// packed or pruned later is noticed.
type Repository struct {
	root, gitDir string
	bare         bool
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
	partial, err := supported(settings)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", root, err)
	}
	alternates, err := alternates(filepath.Join(common, "objects"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", root, err)
	}
	open := func() []*filesystem.Storage {
		stores := []*filesystem.Storage{newStore(gitDir, common)}
		for _, objects := range alternates {
			at := filepath.Dir(objects)
			stores = append(stores, newStore(at, at))
		}
		return stores
	}
	objects := &gitObjects{open: open, stores: open(), partial: partial}
	return &Repository{root: root, gitDir: gitDir, bare: root == gitDir, objects: objects}, nil
}

// newStore reads objects and references. Alternates are stores of their own:
// go-git's reading of them loads their indexes anew for each object.
func newStore(gitDir, common string) *filesystem.Storage {
	fsys := dotgit.NewRepositoryFilesystem(osfs.New(gitDir), osfs.New(common))
	return filesystem.NewStorageWithOptions(fsys, cache.NewObjectLRU(objectCache), filesystem.Options{LargeObjectThreshold: MaxFile})
}

// objectCache is how many bytes of objects a store keeps, for the bases of
// deltas above all.
const objectCache = 32 * cache.MiByte

// supported checks the extensions, see Git's Documentation/technical/
// repository-version.txt. One that is not known may change anything. It says
// whether a remote has promised the objects that are missing.
func supported(settings []setting) (partial bool, err error) {
	for _, s := range settings {
		ok := true
		switch s.section + "." + s.key {
		case "core.repositoryformatversion":
			ok = s.value == "0" || s.value == "1"
		case "extensions.objectformat":
			ok = s.value == "sha1"
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
			return false, fmt.Errorf("%w: its %s.%s is %q", ErrUnsupported, s.section, s.key, s.value)
		}
	}
	return partial, nil
}

// Root returns the absolute path of the checkout, or of a bare repository.
func (r *Repository) Root() string { return r.root }

// GitDir returns the absolute path of the checkout's own Git folder: in a linked
// worktree not the one that it shares.
func (r *Repository) GitDir() string { return r.gitDir }

// Commit resolves a revision, see the package comment for its forms; "" is
// HEAD. Errors: ErrUnborn for HEAD of a repository without commits;
// ErrUnknownRevision, naming rev, for one that names no commit or several,
// which matches ErrNotFound too if an object it leads to is missing;
// ErrMalformed for a commit object that Git would not have written.
func (r *Repository) Commit(ctx context.Context, rev string) (Commit, error) {
	if rev == "" {
		rev = "HEAD"
	}
	c, err := r.resolve(ctx, rev)
	switch {
	case ctx.Err() != nil:
		return Commit{}, ctx.Err()
	case errors.Is(err, ErrUnborn), errors.Is(err, ErrMalformed):
		return Commit{}, fmt.Errorf("%s in %s: %w", rev, r.root, err)
	case err != nil:
		return Commit{}, fmt.Errorf("%w %q in %s: %w", ErrUnknownRevision, rev, r.root, err)
	}
	return c, nil
}
