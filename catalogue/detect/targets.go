package detect

import (
	"fmt"
	"path"
	"strings"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
)

// target is a Target document.
type target struct {
	name, nameWhy         string
	context               string
	registry, registryWhy string
	insecure              bool
	overlay, overlayWhy   string
}

// targets makes a target of each overlay.
func (d *detection) targets() ([]target, error) {
	var targets []target
	taken := map[string]bool{}
	for _, o := range d.overlays {
		t := target{overlay: o.dir, overlayWhy: "No other kustomization uses this one.", context: d.options.Context}
		if d.options.Overlay != "" {
			t.overlayWhy = "As asked for."
		}
		t.name, t.nameWhy = d.targetName(o.dir, taken), "A guess from the repository and the overlay's folder: no other repository's target in the cluster may have it."
		t.registry, t.registryWhy = d.registry(o)
		host, _, _ := strings.Cut(t.registry, "/")
		name, _, _ := strings.Cut(host, ":")
		t.insecure = name == "localhost" || name == "127.0.0.1"
		targets = append(targets, t)
	}
	if o := d.options; (o.Context != "" || o.Target != "") && len(targets) != 1 {
		return nil, fmt.Errorf("%w: a context or a name is for one target, and there are %d: choose an overlay", ErrOption, len(targets))
	}
	if d.options.Registry != "" && len(targets) == 0 {
		return nil, fmt.Errorf("%w: a registry is for a target, and without a kustomization there is none: add one, or leave the registry out", ErrOption)
	}
	if len(targets) > 1 {
		d.note("No target has a context, so each is delivered to the kubeconfig's current one: name contexts, or what is meant for one cluster goes to another")
	}
	if d.options.Target != "" {
		targets[0].name, targets[0].nameWhy = d.options.Target, "As asked for."
	}
	return targets, nil
}

// targetName is a DNS label from the folders' names that is not taken yet.
func (d *detection) targetName(dir string, taken map[string]bool) string {
	label := func(parts ...string) string {
		return strings.Trim(strings.NewReplacer(".", "-", "_", "-").Replace(strings.Join(parts, "-")), "-")
	}
	repository, folders, name := label(d.repository), "", ""
	for part := dir; ; part = path.Dir(part) {
		if part != "." {
			folders = label(sanitize(path.Base(part)), folders)
		}
		name = folders
		if folders != repository && !strings.HasPrefix(folders, repository+"-") {
			name = label(repository, folders)
		}
		if !taken[name] && folders != "" || part == "." {
			break
		}
	}
	const longest = 60 // of 63 characters, so that a number fits
	name = strings.Trim(name[:min(len(name), longest)], "-")
	for number, base := 2, name; taken[name]; number++ {
		name = fmt.Sprintf("%s-%d", base, number)
	}
	taken[name] = true
	return name
}

// registry is where the images of an overlay are pushed to.
func (d *detection) registry(o *overlay) (registry, why string) {
	if d.options.Registry != "" {
		return d.options.Registry, "As asked for."
	}
	why = ""
	for _, r := range o.newNames {
		if c := d.image(r.name); c != nil {
			d.note("%s has a newName for the image %s, which would be delivered instead of the one that is built: take the entry out", r.from, c.name)
		}
		if folder, c := d.registryOf(r.newName); c != nil && why == "" {
			registry, why = folder, "Where newName in "+r.from+" has the image "+c.name+" come from."
		}
	}
	for _, i := range o.images {
		if folder, c := d.registryOf(i.name); c != nil && why == "" {
			registry, why = folder, "Where "+i.from+" has the image "+c.name+" come from."
		}
	}
	if why != "" {
		return registry, why
	}
	return NoRegistry + "/" + d.repository, "Nothing says which registry is meant: write yours. One on this machine is localhost:5000, with insecure: true for plain HTTP."
}

// NoRegistry is the host that stands for a registry that is not known. There is
// none of that name (RFC 2606).
const NoRegistry = "registry.invalid"

// image is the image of a name, or nil.
func (d *detection) image(name string) *candidate {
	for _, c := range d.images {
		if c.name == name {
			return c
		}
	}
	return nil
}

// registryOf is the registry's folder in a name of one of the images; without an
// image if it has none.
func (d *detection) registryOf(name string) (folder string, c *candidate) {
	folder, base, ok := cut(name)
	host, _, _ := strings.Cut(folder, "/")
	if !ok || !strings.ContainsAny(host, ".:") || !registryFolder.MatchString(folder) {
		return "", nil
	}
	return folder, d.image(base)
}

// registryFolder is a registry's host, and a folder of it, as a target takes it.
var registryFolder = lazyregexp.New(`^[a-z0-9.-]+(?::[0-9]{1,5})?(?:/[a-z0-9]+(?:[._-][a-z0-9]+)*)*$`)

// cut divides a repository's name before its last part.
func cut(name string) (folder, base string, ok bool) {
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return "", name, false
	}
	return name[:i], name[i+1:], true
}
