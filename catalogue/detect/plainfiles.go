package detect

import (
	"context"
	"path"
	"slices"
	"strings"
)

// plainFiles notes the images that manifests name and nothing builds, and beside which
// there is a folder of that name: of its files an image can be made.
func (d *detection) plainFiles(context.Context) error {
	for _, image := range d.named {
		if sanitize(image.name) != image.name || slices.ContainsFunc(d.candidates, func(c *candidate) bool { return c.name == image.name }) {
			continue
		}
		if dir := d.plainFolder(image.name); dir != "" {
			d.note("%s names the image %s, and nothing builds it: if it is of the files in %s, write an image with build: {files: {from: %s}} and inputs: [%s]",
				image.from, image.name, dir, dir, dir)
		}
	}
	return nil
}

// plainFolder is the first folder of a name in which nothing is built; empty if there
// is none.
func (d *detection) plainFolder(name string) string {
	for _, file := range d.seen {
		for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
			if path.Base(dir) == name && !auxiliary(dir) && !d.isBuiltIn(dir) {
				return dir
			}
		}
	}
	return ""
}

// isBuiltIn says whether something in a folder may be built, or is part of what
// kustomizations deliver.
func (d *detection) isBuiltIn(dir string) bool {
	return slices.ContainsFunc(d.seen, func(file string) bool {
		if !strings.HasPrefix(file, dir+"/") {
			return false
		}
		switch path.Base(file) {
		case "package.json", "pyproject.toml", "requirements.txt", "setup.py", "Pipfile", "manage.py", "go.mod",
			"kustomization.yaml", "kustomization.yml", "Kustomization":
			return true
		}
		return isDockerfile(path.Base(file)) || path.Ext(file) == ".go" || d.manifest[file]
	})
}
