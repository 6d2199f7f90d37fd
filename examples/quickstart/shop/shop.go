package shop

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// Target is the name of the target in the shop's pharos.yaml.
const Target = "quickstart"

// Options are what differs between the places that the shop is delivered to.
type Options struct {
	// Namespace is where the services run, Receipts where Pharos keeps what it
	// delivered.
	Namespace, Receipts string
	// Push and Pull are the registry as the builder and as the cluster see it:
	// "localhost:5000/shop".
	Push, Pull string
	// Insecure allows plain HTTP for pushing.
	Insecure bool
	// Platforms is what the images are built for. The default is linux/amd64.
	Platforms []string
	// Local is the port of this machine at which stock listens where it is taken over.
	// The default is 18080.
	Local uint16
	// BuildKit is the address of the BuildKit that builds the website from its
	// Dockerfile. Without one there is no website.
	BuildKit string
	// ArgoCD is the namespace of the Argo CD that delivers the shop, and Git where
	// it fetches from. Without one Pharos writes the objects itself.
	ArgoCD, Git string
}

// files holds the shop. Its go.mod has another name there: as a module of its
// own the folder could not be embedded.
//
//go:embed testdata
var files embed.FS

// Repository is the shop's Git repository on disk. It is not safe for concurrent
// use.
type Repository struct {
	dir     string
	commits int
}

// Create writes the shop into an empty folder and makes it a Git repository.
// Nothing is committed yet.
func Create(ctx context.Context, dir string, o Options) (*Repository, error) {
	if len(o.Platforms) == 0 {
		o.Platforms = []string{"linux/amd64"}
	}
	o.Local = cmp.Or(o.Local, 18080)
	if err := o.write(dir); err != nil {
		return nil, fmt.Errorf("write the shop: %w", err)
	}
	r := &Repository{dir: dir}
	_, err := r.git(ctx, "init", "--quiet", "--template=", "--object-format=sha1", "--initial-branch=main")
	return r, err
}

// Dir is the repository's folder.
func (r *Repository) Dir() string { return r.dir }

func (o Options) write(dir string) error {
	values := struct {
		Options
		Platforms string
	}{o, strings.Join(o.Platforms, ", ")}
	return fs.WalkDir(files, "testdata", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || o.BuildKit == "" && strings.Contains(name, "/website") {
			return err
		}
		data, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		t, err := template.New(name).Option("missingkey=error").Parse(string(data))
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := t.Execute(&b, values); err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.FromSlash(strings.TrimSuffix(strings.TrimPrefix(name, "testdata/"), ".txt")))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, b.Bytes(), 0o644)
	})
}

// Replace changes a text in a file. That it stands there exactly once is
// checked, so that the change is the one that was meant.
func (r *Repository) Replace(file, before, after string) error {
	path := filepath.Join(r.dir, filepath.FromSlash(file))
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if n := strings.Count(string(data), before); n != 1 {
		return fmt.Errorf("change %s: %q stands there %d times, want once", file, before, n)
	}
	return os.WriteFile(path, []byte(strings.Replace(string(data), before, after, 1)), 0o644)
}
