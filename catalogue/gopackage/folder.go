package gopackage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/gocommand"
	"github.com/pharos-dev/pharos/internal/scratch"
)

// ErrNoGo is matched by the error of Open if there is no go command.
var ErrNoGo = gocommand.ErrNotFound

// Config is what the go command is run with.
type Config struct {
	// Env is the environment of the go command, as "NAME=value": PATH, HOME,
	// and where modules come from. Programs pass os.Environ(). What decides
	// which files are chosen is not taken from it.
	Env []string
	// TempDir is where the private folder is made. The default is Env's TMPDIR
	// (TMP on Windows), else /tmp.
	TempDir string
}

// Folder is a tree as far as the go command looks at it, in a private folder. It
// is safe for concurrent use until it is closed.
type Folder struct {
	tree    source.Tree
	command *gocommand.Command
	private *scratch.Folder
	root    string // the tree's root, without symbolic links
	links   map[string]string
}

// Open writes a tree into a private folder, which Close removes; if the process is
// killed, the next Open in the same TempDir does. The error
// matches ErrNoGo if there is no go command; those of the tree's objects and of
// the file system are returned as they are.
func Open(ctx context.Context, tree source.Tree, c Config) (f *Folder, err error) {
	temp := c.TempDir
	if temp == "" {
		temp = gocommand.NewEnvironment(c.Env).TempDir()
	}
	private, err := scratch.Place{Dir: temp, Prefix: "pharos-golist-"}.Make()
	if err != nil {
		return nil, err
	}
	f = &Folder{tree: tree, private: private}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
			f = nil
		}
	}()
	// TempDir may lie in a checkout: git is to see nothing of this.
	if err := os.WriteFile(private.Path(".gitignore"), []byte("*\n"), 0o600); err != nil {
		return f, err
	}
	// Two folders: go.mod may say "..", and must not find anything there.
	f.root = private.Path("tree", "root")
	empty := private.Path("empty")
	for _, dir := range []string{f.root, empty} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return f, err
		}
	}
	// Its own go.mod, so that none of a parent folder is looked at.
	if err := os.WriteFile(filepath.Join(empty, "go.mod"), []byte("module empty\n"), 0o600); err != nil {
		return f, err
	}
	if f.command, err = gocommand.New(ctx, c.Env, empty); err != nil {
		return f, err
	}
	return f, f.export(ctx)
}

func (f *Folder) export(ctx context.Context) error {
	seen, err := skeleton(ctx, f.tree)
	if err != nil {
		return err
	}
	if err := source.Export(ctx, seen, f.root); err != nil {
		return fmt.Errorf("write out what the go command reads: %w", err)
	}
	f.links = map[string]string{}
	return seen.Walk(ctx, func(name string, e source.Entry) error {
		if e.Mode != source.ModeSymlink {
			return nil
		}
		target, err := os.Readlink(f.disk(name))
		f.links[name] = filepath.ToSlash(target)
		return err
	})
}

// Close removes the private folder, what keeps it from git's sight last.
func (f *Folder) Close() error {
	inside, err := os.ReadDir(f.private.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range inside {
		if e.IsDir() {
			errs = append(errs, os.RemoveAll(f.private.Path(e.Name())))
		}
	}
	return errors.Join(append(errs, f.private.Remove())...)
}

// GoVersion is the version of the installed go command, such as "go1.26.8".
func (f *Folder) GoVersion() string { return f.command.Version() }

// disk is where a path of the tree is.
func (f *Folder) disk(name string) string { return filepath.Join(f.root, filepath.FromSlash(name)) }

// inTree is the path in the tree of a file or folder that the go command names.
func (f *Folder) inTree(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, f.root)
	if !ok || rest != "" && !os.IsPathSeparator(rest[0]) {
		return "", false
	}
	return path.Join(".", filepath.ToSlash(strings.TrimLeft(rest, string(filepath.Separator)))), true
}

// text takes the private folder out of what the go command says.
func (f *Folder) text(s string) string {
	s = strings.ReplaceAll(s, f.root+string(filepath.Separator), "")
	return strings.TrimSpace(strings.ReplaceAll(s, f.root, "."))
}
