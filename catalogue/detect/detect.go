package detect

import (
	"context"
	"errors"
	"fmt"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/gopackage"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/buildcontext"
)

// ErrOption is matched by the error of Detect for an option that does not fit the
// tree, or is not well-formed.
var ErrOption = errors.New("that cannot be asked for")

// Options are explicit values, which win over what is found, and what the go
// command is run with.
type Options struct {
	// Repository is the repository's name, for what lies at its root if no
	// go.mod, package.json or pyproject.toml there has another one. The default
	// is "app".
	Repository string
	// Names are the names of images by the folder of the Go program or by the
	// path of the Dockerfile or of its folder.
	Names map[string]string
	// Registry is where images are pushed to, such as
	// "registry.example.com/shop". The default is where the overlay's newName
	// fields and manifests have images come from, else NoRegistry.
	Registry string
	// Target is the name of the target. The default is made of the names of the
	// repository and of the overlay's folder. It needs a single target.
	Target string
	// Context is the kubeconfig's context of the target. The default, "", is to
	// leave it open. It needs a single target.
	Context string
	// Overlay is the folder of the kustomization to deliver. The default is a
	// target for each that no other kustomization uses.
	Overlay string
	// Go is what the go command is run with, if the tree has Go modules.
	Go gopackage.Config
}

// Result is a first pharos.yaml.
type Result struct {
	// YAML is the text of the file.
	YAML []byte
	// Images are what it builds, in the order of the file.
	Images []Image
	// Targets are the names of its targets, in the order of the file.
	Targets []string
	// Notes say what was found and is not in the catalogue, and why, for a
	// person: one line each. All but those on bases that cannot be locked stand
	// in the file as comments too.
	Notes []string
	// Unlocked are the references of base images that neither a recipe names by
	// digest nor the tree's pharos.lock holds: kubectl pharos lock is next.
	Unlocked []string
}

// Image is one image that was found.
type Image struct {
	Name string
	Kind string // catalogue.BuildGo or catalogue.BuildDockerfile
	Path string // the folder of the Go program, or the path of the Dockerfile
	Why  string // where the name comes from, as the rest of a sentence
}

// Detect looks through a tree. An existing pharos.yaml has no part in it. The error
// matches ErrOption; it is a *catalogue.TooLargeError beyond the limits of package
// catalogue; others are those of the tree's objects, of the file system and of
// ctx. That there is no go command is a note.
func Detect(ctx context.Context, tree source.Tree, o Options) (result *Result, err error) {
	d := &detection{tree: tree, options: o}
	defer func() {
		if d.goFolder != nil {
			err = errors.Join(err, d.goFolder.Close())
		}
	}()
	for _, step := range []func(context.Context) error{
		d.scan, d.kustomizations, d.dockerfiles, d.programs, d.findRepository, d.chooseNames, d.projects, d.plainFiles, d.recipes,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	targets, err := d.targets()
	if err != nil {
		return nil, err
	}
	r := &Result{YAML: d.write(targets), Notes: d.notes}
	for _, c := range d.images {
		r.Images = append(r.Images, Image{Name: c.name, Kind: c.kind, Path: c.path, Why: c.why})
	}
	for _, t := range targets {
		r.Targets = append(r.Targets, t.name)
	}
	return r, r.findUnlocked(ctx, tree)
}

// detection is what is known so far.
type detection struct {
	tree    source.Tree
	withOwn source.Tree // with pharos.yaml and pharos.lock
	options Options

	files   []string        // all paths of files, sorted
	isFile  map[string]bool // the ordinary ones among them
	folders *folders
	seen    []string // those outside of folders that are not looked into

	overlays []*overlay
	named    []namedImage // what the manifests name
	manifest map[string]bool

	contexts *buildcontext.Finder
	refused  []string // the contents of Dockerfiles that make no image yet
	left     bool     // something is left out that may have to become an image
	large    int      // how many Dockerfiles the build context is too large for

	repository    string // the name of what lies at the root
	repositoryWhy string // where it comes from
	candidates    []*candidate
	images        []*candidate
	goFolder      *gopackage.Folder // nil without Go modules
	notes         []string
}

// candidate is something that may become an image.
type candidate struct {
	kind string // catalogue.BuildGo or catalogue.BuildDockerfile
	path string // a Go program's folder, or the Dockerfile
	dir  string // its folder
	// importPath is that of a Go program, and module the folder of its go.mod.
	importPath, module string
	dockerfile         *dockerfileReads

	name string
	why  string // where the name comes from

	comments []string // on the image as a whole

	toolchain, toolchainWhy string

	inputs []string
	basis  string // of the inputs
}

func (d *detection) note(format string, args ...any) {
	d.notes = append(d.notes, oneLine(fmt.Sprintf(format, args...)))
}

// findUnlocked finds the references that are to be locked.
func (r *Result) findUnlocked(ctx context.Context, tree source.Tree) error {
	c, err := catalogue.Parse(catalogue.FileName, r.YAML)
	if err != nil {
		return fmt.Errorf("what was written is not well-formed: %w", err)
	}
	lock, err := catalogue.LoadLock(ctx, tree)
	if err != nil {
		return err
	}
	references, err := c.References(ctx, tree)
	failed := catalogue.FailedImages(err)
	if err != nil && len(failed) == 0 {
		return err
	}
	for _, f := range failed {
		r.Notes = append(r.Notes, oneLine(f.Error()))
	}
	for _, ref := range references {
		if lock.Images[ref.Reference] == "" {
			r.Unlocked = append(r.Unlocked, ref.Reference)
		}
	}
	return nil
}
