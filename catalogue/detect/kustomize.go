package detect

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// overlay is a kustomization that no other one uses.
type overlay struct {
	dir string
	// newNames are where its images fields have images come from.
	newNames []renamed
	images   []namedImage // what its manifests name
}

// renamed is an entry of an images field with a newName.
type renamed struct {
	name, newName string
	from          string // the kustomization
}

// namedImage is an image that a kustomization or a manifest names.
type namedImage struct {
	name string // as written, without tag and digest
	from string // the file that names it
}

// kustomizations finds overlays, the files that they are made of, and the images
// that these name.
func (d *detection) kustomizations(ctx context.Context) error {
	g := &graph{detection: d, parsed: map[string]*kustomized{}}
	for _, file := range d.seen {
		if isKustomization(path.Base(file)) {
			if err := g.parse(ctx, file); err != nil {
				return err
			}
		}
	}
	roots, err := g.roots()
	if err != nil {
		return err
	}
	d.manifest = map[string]bool{}
	for _, dir := range roots {
		o := &overlay{dir: dir}
		if err := g.follow(ctx, dir, o, map[string]bool{}); err != nil {
			return err
		}
		d.overlays = append(d.overlays, o)
	}
	slices.SortFunc(d.named, func(a, b namedImage) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.from, b.from))
	})
	d.named = slices.CompactFunc(d.named, func(a, b namedImage) bool { return a.name == b.name })
	return nil
}

func isKustomization(base string) bool {
	return base == "kustomization.yaml" || base == "kustomization.yml" || base == "Kustomization"
}

// graph is the kustomizations of a tree and how they use each other.
type graph struct {
	*detection
	parsed map[string]*kustomized // by folder
}

type kustomized struct {
	file string
	kustomization
}

func (g *graph) parse(ctx context.Context, file string) error {
	data, err := g.read(ctx, file)
	if err != nil {
		return err
	}
	k, ok := parseKustomization(data)
	if !ok {
		g.note("%s is not YAML, so what it names was not looked at", file)
	}
	g.parsed[path.Dir(file)] = &kustomized{file: file, kustomization: k}
	return nil
}

// read reads a file, and nothing of one that is larger than any manifest.
func (d *detection) read(ctx context.Context, file string) ([]byte, error) {
	entry, err := d.tree.Lookup(ctx, file)
	if err != nil {
		return nil, err
	}
	r, size, err := d.tree.Objects.Blob(ctx, entry.ID)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if err := r.Close(); err != nil || size > maxManifest {
		return nil, err
	}
	return d.tree.ReadFile(ctx, file)
}

// roots are the folders to deliver, sorted.
func (g *graph) roots() ([]string, error) {
	if o := g.options.Overlay; o != "" {
		dir := path.Clean(o)
		if g.parsed[dir] == nil {
			return nil, fmt.Errorf("%w: the overlay %s has no kustomization; found: %s", ErrOption, o, cmp.Or(strings.Join(slices.Sorted(maps.Keys(g.parsed)), ", "), "none at all"))
		}
		return []string{dir}, nil
	}
	used := map[string]bool{}
	for dir, k := range g.parsed {
		for _, entry := range k.entries() {
			if in, ok := join(dir, entry); ok && in != dir {
				used[in] = true
			}
		}
	}
	var roots, others []string
	for _, dir := range slices.Sorted(maps.Keys(g.parsed)) {
		switch {
		case used[dir] || g.parsed[dir].Kind == "Component":
		case auxiliary(dir):
			others = append(others, dir)
		default:
			roots = append(roots, dir)
		}
	}
	if len(roots) == 0 {
		return others, nil // better than none
	}
	if len(others) > 0 {
		g.note("No target for %s: by its folder's name it is not delivered", strings.Join(others, ", "))
	}
	return roots, nil
}

// follow visits a kustomization and what it uses.
func (g *graph) follow(ctx context.Context, dir string, o *overlay, visited map[string]bool) error {
	if visited[dir] {
		return nil
	}
	visited[dir] = true
	k := g.parsed[dir]
	g.manifest[k.file] = true
	for _, image := range k.Images {
		if image.Name != "" {
			g.named = append(g.named, namedImage{nameOf(image.Name), k.file})
		}
		if image.NewName != "" {
			o.newNames = append(o.newNames, renamed{nameOf(image.Name), nameOf(image.NewName), k.file})
		}
	}
	for _, entry := range k.entries() {
		name, ok := join(dir, entry)
		switch {
		case ok && g.parsed[name] != nil:
			if err := g.follow(ctx, name, o, visited); err != nil {
				return err
			}
		case ok && g.isFile[name]:
			if err := g.manifestFile(ctx, name, o); err != nil {
				return err
			}
		case strings.Contains(entry, "://") || strings.HasPrefix(entry, "github.com/"):
			g.note("%s uses %s, which is fetched from elsewhere: copy it into the repository, since a commit is delivered from its own tree only", k.file, entry)
		}
	}
	return nil
}

func (g *graph) manifestFile(ctx context.Context, name string, o *overlay) error {
	g.manifest[name] = true
	data, err := g.read(ctx, name)
	if err != nil {
		return err
	}
	for _, ref := range containerImages(data) {
		g.named = append(g.named, namedImage{nameOf(ref), name})
		o.images = append(o.images, namedImage{nameOf(ref), name})
	}
	return nil
}

// join is the path in the tree of an entry of the kustomization in a folder.
func join(dir, entry string) (string, bool) {
	if entry == "" || path.IsAbs(entry) || strings.Contains(entry, "://") || strings.Contains(entry, "\n") {
		return "", false
	}
	name := path.Join(dir, entry)
	return name, name != ".." && !strings.HasPrefix(name, "../")
}
