package detect

import (
	"path"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
)

// ownFiles is the pattern for pharos.yaml and pharos.lock, which need not be there
// yet.
const ownFiles = "pharos.*"

func isOwn(name string) bool { return name == catalogue.FileName || name == catalogue.LockFileName }

// dockerfileInputs chooses patterns for the files that a Dockerfile takes.
func (d *detection) dockerfileInputs(c *candidate) {
	read := map[string]bool{}
	for _, name := range c.dockerfile.files {
		read[name] = true
	}
	if c.dockerfile.whole {
		delivery := slices.DeleteFunc(d.deliveryFolders(), func(pattern string) bool { return c.needs(pattern, read, d.manifest) })
		basis := "Its COPY lines take the whole tree, but for what its ignore rules name"
		if len(delivery) > 0 {
			basis += "; what the kustomizations read is kept out, so that its changes build nothing"
		}
		if patterns, ok := d.ignorePatterns(c, read, delivery); ok {
			c.inputs, c.basis = patterns, basis+"."
			return
		}
		if keep, ok := d.keepOut(read, delivery); ok {
			c.inputs, c.basis = slices.Concat([]string{"**", "!" + ownFiles}, keep), basis+"."
			return
		}
	}
	c.basis = "What its COPY and ADD lines take."
	mixed := d.folders.mixed(c.dockerfile.files)
	for _, name := range c.dockerfile.files {
		if !isOwn(name) {
			c.inputs = append(c.inputs, literal(highest(mixed, name)))
		}
	}
	c.inputs = slices.Compact(c.inputs)
	if c.dockerfile.whole {
		c.inputs = append(c.inputs, "!"+ownFiles)
	}
}

// needs says whether a pattern for manifests would keep out the Dockerfile or its
// ignore rules.
func (c *candidate) needs(pattern string, read, manifest map[string]bool) bool {
	p, err := catalogue.ParsePatterns([]string{pattern})
	if err != nil {
		return true
	}
	for name := range read {
		if p.Match(name) && !manifest[name] {
			return true
		}
	}
	return false
}

// keepOut are the patterns that exclude what a Dockerfile that takes the whole
// tree does not take, and manifests; not ok if they would be many.
func (d *detection) keepOut(read map[string]bool, delivery []string) (patterns []string, ok bool) {
	const most = 12
	docs := !slices.ContainsFunc(d.files, func(name string) bool { return strings.HasSuffix(name, ".md") && read[name] })
	mixed := map[string]bool{".": true} // folders of which something is taken
	for _, name := range d.files {
		if read[name] && !d.manifest[name] {
			mark(mixed, name)
		}
	}
	for _, pattern := range delivery {
		patterns = append(patterns, "!"+pattern)
	}
	undocumented := true
	for _, name := range d.files {
		switch {
		case read[name] || isOwn(name) || d.manifest[name]:
		case docs && strings.HasSuffix(name, ".md"):
			undocumented = false
		default:
			if pattern := "!" + literal(highest(mixed, name)); !slices.Contains(patterns, pattern) {
				patterns = append(patterns, pattern)
			}
		}
	}
	if !undocumented {
		patterns = append(patterns, noDocs)
	}
	return patterns, len(patterns) <= most
}

// mark marks the folders above a file.
func mark(folders map[string]bool, name string) {
	for dir := path.Dir(name); !folders[dir]; dir = path.Dir(dir) {
		folders[dir] = true
	}
}

// highest is the highest folder above a file that is not marked, or the file.
func highest(marked map[string]bool, name string) string {
	at := name
	for dir := path.Dir(name); !marked[dir]; dir = path.Dir(dir) {
		at = dir
	}
	return at
}
