package worktree

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/lazyregexp"
)

// Config says which working directory to read, and how.
type Config struct {
	// Dir is the checkout's root or a folder in it. The default is the current
	// folder.
	Dir string
	// Repository is the repository of the checkout where it is open already:
	// the tree shares with it which folders were read. Then Dir is not looked
	// at. The default opens it.
	Repository *source.Repository
	// Git is the git program: a path, or a name to look for in PATH. The
	// default is "git".
	Git string
	// Env is the environment of the git program. Variables that point it at
	// one repository, as it sets them for its hooks, are taken out. The default
	// is that of this process.
	Env []string
	// MaxFile is the size in bytes of the largest file that is not committed
	// and still read. The default is 1 GiB.
	MaxFile int64
	// Log is told what git remarks on. The default discards.
	Log *slog.Logger
}

const defaultMaxFile = 1 << 30

// attempts is how often a working directory is looked at that changes meanwhile.
const attempts = 4

// errMoved says that files changed between two looks.
var errMoved = errors.New("files changed while they were read")

// Snapshot returns the tree of a whole working directory, as git add -A and git
// write-tree would make it. It may be called by several programs at once, and
// beside git commands; a file that changes meanwhile is taken as it was at some
// time during the call. The tree can be read for a day at least, by this process
// only.
//
// Errors: source.ErrNoRepository, source.ErrUnsupported and source.ErrNoGit;
// ErrBare and ErrChanging; one or two of *PathsError that match ErrUnmerged,
// ErrNested, ErrUnreadable, ErrFilter or source.ErrTooLarge; a *GitError for
// whatever else git does not like, such as a folder of somebody else or a
// required filter that fails.
func Snapshot(ctx context.Context, c Config) (source.Tree, error) {
	o, err := open(c)
	if err != nil {
		return source.Tree{}, err
	}
	return o.snapshot(ctx)
}

func (c *checkout) snapshot(ctx context.Context) (tree source.Tree, err error) {
	if err := c.atRoot(ctx); err != nil {
		return source.Tree{}, err
	}
	for range attempts {
		if tree, err = c.take(ctx); !errors.Is(err, errMoved) {
			return tree, err
		}
		c.log.DebugContext(ctx, "look at the working directory again", "dir", c.root, "error", err)
	}
	return source.Tree{}, fmt.Errorf("%w: %w", ErrChanging, err)
}

// checkout is one working directory and what is kept about it.
type checkout struct {
	git
	repo    *source.Repository
	gitDir  string // this checkout's own
	common  string // with the objects
	private private
	maxFile int64
	// resolution is more than that of the file system's clock.
	resolution time.Duration
}

func open(c Config) (*checkout, error) {
	if c.Dir == "" {
		c.Dir = "."
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.MaxFile == 0 {
		c.MaxFile = defaultMaxFile
	}
	repo := c.Repository
	if repo == nil {
		var err error
		if repo, err = source.Open(c.Dir); err != nil {
			return nil, err
		}
	}
	if repo.Root() == repo.GitDir() {
		return nil, fmt.Errorf("%s: %w", repo.Root(), ErrBare)
	}
	common, err := repo.CommonDir()
	if err != nil {
		return nil, err
	}
	g, err := newGit(c, repo.Root())
	if err != nil {
		return nil, err
	}
	return &checkout{
		git: g, repo: repo, gitDir: repo.GitDir(), common: common,
		private: newPrivate(repo.GitDir(), common), maxFile: c.MaxFile, resolution: resolution,
	}, nil
}

var setsWorktree = lazyregexp.New(`(?im)^\s*worktree\s*=`)

// atRoot refuses a repository whose configuration has its working directory
// elsewhere. That of a submodule says where it is.
func (c *checkout) atRoot(ctx context.Context) error {
	for _, file := range []string{filepath.Join(c.common, "config"), filepath.Join(c.gitDir, "config.worktree")} {
		content, err := os.ReadFile(file)
		if ignoreMissing(err) != nil {
			return err
		}
		if !setsWorktree.Match(content) {
			continue
		}
		out, _, err := c.run(ctx, filepath.Join(c.common, "objects"), filepath.Join(c.gitDir, "index"), nil, "rev-parse", "--show-toplevel")
		if err != nil {
			return err
		}
		top := strings.TrimSuffix(string(out), "\n")
		there, err := os.Stat(top)
		if err != nil {
			return err
		}
		here, err := os.Stat(c.root)
		if err != nil {
			return err
		}
		if !os.SameFile(here, there) {
			return fmt.Errorf("%s: %w: its core.worktree is %s", c.root, source.ErrUnsupported, top)
		}
	}
	return nil
}

// take looks at the working directory once.
func (c *checkout) take(ctx context.Context) (source.Tree, error) {
	work, err := c.private.scratch()
	if err != nil {
		return source.Tree{}, err
	}
	defer work.remove()
	store, err := c.private.store(work.began)
	if err != nil {
		return source.Tree{}, err
	}
	objects, err := source.OpenObjects(store.objects())
	if err != nil {
		return source.Tree{}, err
	}
	st, err := c.status(ctx, store, work)
	if err != nil {
		return source.Tree{}, err
	}
	if err := c.refuse(st); err != nil {
		return source.Tree{}, err
	}
	return c.tree(ctx, objects, store, work, st)
}

// tree makes the tree of HEAD and of what is not as it is there.
func (c *checkout) tree(ctx context.Context, objects source.Objects, store *store, work *scratch, st *status) (source.Tree, error) {
	base := &baseTree{objects: objects}
	if st.head != "" {
		commit, err := c.repo.Commit(ctx, string(st.head))
		if err != nil {
			return source.Tree{}, err
		}
		base.id, base.objects = commit.Tree.ID, &foldersAndFiles{commit.Tree.Objects, objects}
	}
	changes, err := c.changes(ctx, store, work, st, base)
	if err != nil {
		return source.Tree{}, err
	}
	tree, err := base.with(ctx, changes)
	if err == nil && tree.ID == "" {
		return c.empty(ctx, objects, store, work)
	}
	return tree, err
}

// empty is the tree without entries. Git knows by which ID.
func (c *checkout) empty(ctx context.Context, objects source.Objects, store *store, work *scratch) (source.Tree, error) {
	out, _, err := c.write(ctx, store, work, work.path("empty"), nil, "hash-object", "-t", "tree", "-w", "--stdin")
	return source.Tree{ID: source.ID(strings.TrimSpace(string(out))), Objects: objects}, err
}
