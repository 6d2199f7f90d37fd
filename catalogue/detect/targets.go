package detect

import (
	"fmt"
	"path"
	"regexp"
	"strings"
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
		t.name, t.nameWhy = d.targetName(o.dir, taken), "A guess from the overlay's folder."
		t.registry, t.registryWhy = d.registry(o)
		host, _, _ := strings.Cut(t.registry, "/")
		name, _, _ := strings.Cut(host, ":")
		t.insecure = name == "localhost" || name == "127.0.0.1"
		targets = append(targets, t)
	}
	if o := d.options; (o.Context != "" || o.Target != "") && len(targets) != 1 {
		return nil, fmt.Errorf("%w: a context or a name is for one target, and there are %d: choose an overlay", ErrOption, len(targets))
	}
	if d.options.Target != "" {
		targets[0].name, targets[0].nameWhy = d.options.Target, "As asked for."
	}
	return targets, nil
}

// targetName is a DNS label from the folders' names that is not taken yet.
func (d *detection) targetName(dir string, taken map[string]bool) string {
	name := ""
	for part := dir; ; part = path.Dir(part) {
		base := path.Base(part)
		if part == "." || part == "/" {
			base = "default"
		}
		name = strings.Trim(strings.NewReplacer(".", "-", "_", "-").Replace(sanitize(base)+"-"+name), "-")
		if !taken[name] && name != "" || part == "." {
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
	for _, name := range o.newNames {
		folder, base, ok := cut(name)
		host, _, _ := strings.Cut(folder, "/")
		ok = ok && registryFolder.MatchString(folder)
		for _, c := range d.images {
			if ok && strings.ContainsAny(host, ".:") && base == c.name {
				return folder, "Where newName in the overlay has the image " + c.name + " come from; leave that field out there."
			}
		}
	}
	return "localhost:5000/" + d.repository, "Nothing says which registry is meant: write yours. insecure allows plain HTTP."
}

// registryFolder is a registry's host, and a folder of it, as a target takes it.
var registryFolder = regexp.MustCompile(`^[a-z0-9.-]+(?::[0-9]{1,5})?(?:/[a-z0-9]+(?:[._-][a-z0-9]+)*)*$`)

// cut divides a repository's name before its last part.
func cut(name string) (folder, base string, ok bool) {
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return "", name, false
	}
	return name[:i], name[i+1:], true
}
