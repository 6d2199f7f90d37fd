package transport

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/catalogue/source"
)

const (
	repositoryPrefix = "repository-"
	temporaryPrefix  = "tmp-"
	// maxRepository is how many bytes a private repository may have.
	maxRepository = 256 << 20
	// kept is how long what may be in use by another call is kept.
	kept = 24 * time.Hour
)

// repository is a bare repository of ours, of one object format.
type repository struct {
	dir    string
	format objectFormat
}

func (p *repository) objects() string { return filepath.Join(p.dir, "objects") }

// full is a file that says that the repository is to be left for a new one.
func (p *repository) full() string { return filepath.Join(p.dir, "full") }

// open returns the private repository in use, and removes what nobody uses any
// more.
func (r *Remote) open(f objectFormat) (*repository, error) {
	if err := os.MkdirAll(r.folder, 0o700); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(r.folder)
	if err != nil {
		return nil, err
	}
	now, newest := time.Now(), 0
	r.sweep()
	prefix := repositoryPrefix + string(f) + "-"
	var old []string
	for _, e := range entries {
		path := filepath.Join(r.folder, e.Name())
		rest, is := strings.CutPrefix(e.Name(), prefix)
		n, err := strconv.Atoi(rest)
		if !is || err != nil {
			continue
		}
		newest = max(newest, n)
		old = append(old, path)
	}
	at := func(n int) *repository {
		return &repository{dir: filepath.Join(r.folder, prefix+strconv.Itoa(n)), format: f}
	}
	for _, path := range old {
		if path != at(newest).dir && unused(path, now) {
			_ = os.RemoveAll(path)
		}
	}
	repo := at(newest)
	if newest == 0 || exists(repo.full()) {
		repo = at(newest + 1)
		if err := r.create(repo); err != nil {
			return nil, err
		}
	}
	repo.sweep(now)
	return repo, os.Chtimes(repo.dir, now, now)
}

// create makes a private repository. It appears by renaming, so that another call
// never sees a part of it.
func (r *Remote) create(repo *repository) error {
	made, err := os.MkdirTemp(r.folder, temporaryPrefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(made)
	shallow := commitOf(repo.format.emptyTree(), "Makes a repository shallow")
	boundary := hashObject(repo.format, "commit", shallow)
	// Git leaves out of a push what the server's commits hold if they are
	// ancestors of what is pushed; ours have none. In a shallow repository it
	// leaves out what any commit of the server's holds, so this one is, by a
	// commit that is part of no other.
	files := map[string]string{"shallow": string(boundary) + "\n"}
	if r.common != "" {
		// By a relative path, so that the checkout can be moved.
		borrowed, err := filepath.Rel(filepath.Join(repo.dir, "objects"), r.objects())
		if err != nil {
			borrowed = r.objects()
		}
		files["objects/info/alternates"] = filepath.ToSlash(borrowed) + "\n"
	}
	if err := repo.format.lay(made, files); err != nil {
		return err
	}
	inside := &repository{dir: made, format: repo.format}
	if err := inside.write("commit", boundary, shallow); err != nil {
		return err
	}
	err = os.Rename(made, repo.dir)
	if err != nil && exists(filepath.Join(repo.dir, "HEAD")) {
		return nil // another call was faster
	}
	return err
}

// objects is the folder of the checkout's objects.
func (r *Remote) objects() string { return filepath.Join(r.common, "objects") }

// lay makes a bare repository of a folder, with further files.
func (f objectFormat) lay(dir string, more map[string]string) error {
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
	if f == formatSHA256 {
		config = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n"
	}
	for _, folder := range []string{"objects/info", "refs"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			return err
		}
	}
	files := map[string]string{"HEAD": "ref: refs/heads/none\n", "config": config}
	maps.Copy(files, more)
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// sweep removes the repositories that killed calls have left.
func (r *Remote) sweep() {
	old, err := filepath.Glob(filepath.Join(glob(r.folder), temporaryPrefix+"*"))
	if err != nil {
		return // the pattern is well-formed
	}
	for _, path := range old {
		if unused(path, time.Now()) {
			_ = os.RemoveAll(path) // or a later call does
		}
	}
}

// ends are the commits at which the history of a shallow repository ends.
func (p *repository) ends() (map[source.ID]bool, error) {
	data, err := os.ReadFile(filepath.Join(p.dir, "shallow"))
	if err != nil {
		return nil, ignoreMissing(err)
	}
	ends := map[source.ID]bool{}
	for _, id := range strings.Fields(string(data)) {
		ends[source.ID(id)] = true
	}
	return ends, nil
}

// sweep removes what killed calls have left.
func (p *repository) sweep(now time.Time) {
	old, err := filepath.Glob(filepath.Join(glob(p.objects()), temporaryPrefix+"*"))
	if err != nil {
		return // the pattern is well-formed
	}
	for _, path := range old {
		if unused(path, now) {
			_ = os.Remove(path) // or a later call does
		}
	}
}

// measure has a later call leave the repository if it has grown too large.
func (p *repository) measure() error {
	var total int64
	err := filepath.WalkDir(p.objects(), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return ignoreMissing(err)
		}
		info, err := d.Info()
		if err != nil {
			return ignoreMissing(err)
		}
		total += info.Size()
		return nil
	})
	if err != nil || total <= maxRepository {
		return err
	}
	if err := os.WriteFile(p.full(), nil, 0o600); err != nil {
		return fmt.Errorf("leave the repository: %w", err)
	}
	return nil
}

// unused holds for what nobody touched for a day.
func unused(path string, now time.Time) bool {
	info, err := os.Lstat(path)
	return err == nil && now.Sub(info.ModTime()) > kept
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// glob quotes a path for filepath.Glob.
func glob(path string) string {
	if filepath.Separator == '\\' {
		return path // it has no quoting there, nor can * and ? be in a path
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
