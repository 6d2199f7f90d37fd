package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

// ErrUnsupported is returned by Open for a repository of a layout that cannot be
// read, such as one with SHA-256 object IDs.
var ErrUnsupported = errors.New("unsupported kind of repository")

// Repository is a Git repository on disk. It is safe for concurrent use. It is
// read as it stands: what is committed later is found too.
type Repository struct {
	root, gitDir string
	git          *git.Repository
	objects      *gitObjects
}

// Open opens the repository around a folder: the one whose checkout, or whose
// bare folder, dir is or lies in. Errors: ErrNoRepository, ErrUnsupported.
func Open(dir string) (*Repository, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root, gitDir, err := find(abs)
	if err != nil {
		return nil, err
	}
	common, err := commonDir(gitDir)
	if err != nil {
		return nil, err
	}
	fsys := dotgit.NewRepositoryFilesystem(osfs.New(gitDir), osfs.New(common))
	storage := filesystem.NewStorageWithOptions(fsys, cache.NewObjectLRUDefault(), filesystem.Options{AlternatesFS: osfs.New(string(filepath.Separator))})
	cfg, err := storage.Config()
	if err != nil {
		return nil, fmt.Errorf("read the configuration of %s: %w", root, err)
	}
	if err := supported(cfg); err != nil {
		return nil, fmt.Errorf("%s: %w", root, err)
	}
	repo, err := git.Open(storage, nil)
	if err != nil {
		return nil, fmt.Errorf("open the repository %s: %w", root, err)
	}
	return &Repository{root: root, gitDir: gitDir, git: repo, objects: &gitObjects{store: storage}}, nil
}

func supported(cfg *config.Config) error {
	format := cfg.Raw.Section("extensions").Option("objectformat")
	if format != "" && format != "sha1" {
		return fmt.Errorf("%w: its object IDs are %s", ErrUnsupported, format)
	}
	if storage := cfg.Raw.Section("extensions").Option("refstorage"); storage != "" && storage != "files" {
		return fmt.Errorf("%w: its references are stored as %s", ErrUnsupported, storage)
	}
	return nil
}

// find walks up to the checkout's root and its Git folder.
func find(dir string) (root, gitDir string, err error) {
	for at := dir; ; at = filepath.Dir(at) {
		dotGit := filepath.Join(at, ".git")
		info, err := os.Stat(dotGit)
		switch {
		case err == nil && info.IsDir():
			return at, dotGit, nil
		case err == nil:
			gitDir, err := linked(dotGit)
			return at, gitDir, err
		case !errors.Is(err, fs.ErrNotExist):
			return "", "", err
		case isBare(at):
			return at, at, nil
		}
		if at == filepath.Dir(at) {
			return "", "", fmt.Errorf("%s: %w, nor is a folder above it", dir, ErrNoRepository)
		}
	}
}

// linked reads a file .git: that of a linked worktree or a submodule.
func linked(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
	if !ok {
		return "", fmt.Errorf("%s: %w: it does not begin with gitdir:", file, ErrNoRepository)
	}
	return resolve(filepath.Dir(file), dir), nil
}

func isBare(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// commonDir is where a linked worktree shares objects and references.
func commonDir(gitDir string) (string, error) {
	data, err := os.ReadFile(filepath.Join(gitDir, "commondir"))
	if errors.Is(err, fs.ErrNotExist) {
		return gitDir, nil
	}
	if err != nil {
		return "", err
	}
	return resolve(gitDir, strings.TrimSpace(string(data))), nil
}

func resolve(base, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

// Root returns the absolute path of the checkout, or of a bare repository.
func (r *Repository) Root() string { return r.root }

// GitDir returns the absolute path of the checkout's own Git folder: in a linked
// worktree not the one that it shares.
func (r *Repository) GitDir() string { return r.gitDir }

// Commit resolves a revision as git does: a branch, a tag, a full or abbreviated
// ID, HEAD~2, and HEAD if it is empty. Errors: ErrUnborn, ErrUnknownRevision,
// and ErrNotFound if the commit is named but not there.
func (r *Repository) Commit(ctx context.Context, rev string) (Commit, error) {
	if err := ctx.Err(); err != nil {
		return Commit{}, err
	}
	if rev == "" {
		rev = "HEAD"
	}
	r.objects.mu.Lock()
	defer r.objects.mu.Unlock()
	hash, err := r.git.ResolveRevision(plumbing.Revision(rev))
	if err != nil {
		if head, headErr := r.git.Head(); errors.Is(headErr, plumbing.ErrReferenceNotFound) && head == nil && strings.HasPrefix(rev, "HEAD") {
			return Commit{}, fmt.Errorf("%s: %w: commit something first", r.root, ErrUnborn)
		}
		return Commit{}, fmt.Errorf("%w %q in %s (%w)", ErrUnknownRevision, rev, r.root, err)
	}
	c, err := r.git.CommitObject(*hash)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return Commit{}, fmt.Errorf("%w %q in %s: it names %s, which is no commit that is here", ErrUnknownRevision, rev, r.root, hash)
	}
	if err != nil {
		return Commit{}, fmt.Errorf("read commit %s: %w", hash, err)
	}
	return r.commit(c), nil
}

func (r *Repository) commit(c *object.Commit) Commit {
	out := Commit{ID: ID(c.Hash.String()), Tree: Tree{ID: ID(c.TreeHash.String()), Objects: r.objects}}
	out.Subject, _, _ = strings.Cut(strings.TrimSpace(c.Message), "\n")
	for _, p := range c.ParentHashes {
		out.Parents = append(out.Parents, ID(p.String()))
	}
	return out
}
