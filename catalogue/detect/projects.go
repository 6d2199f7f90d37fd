package detect

import (
	"context"
	"path"
	"slices"
	"strings"
)

// projects finds Node and Python projects of which nothing builds an image.
func (d *detection) projects(ctx context.Context) error {
	done := map[string]bool{} // folders with a Python project
	for _, file := range d.seen {
		dir := path.Dir(file)
		switch path.Base(file) {
		case "package.json":
			data, err := d.read(ctx, file)
			if err != nil {
				return err
			}
			scripts := parsePackageJSON(data).Scripts
			if scripts["start"] != "" || scripts["build"] != "" {
				d.unbuilt(dir, "Node", "package.json")
			}
		case "pyproject.toml", "requirements.txt", "setup.py", "Pipfile", "manage.py":
			if !done[dir] {
				done[dir] = true
				d.unbuilt(dir, "Python", "pyproject.toml", "requirements.txt", "setup.py", "Pipfile", "manage.py")
			}
		}
	}
	return nil
}

// unbuilt notes a project that no Dockerfile takes.
func (d *detection) unbuilt(dir, kind string, files ...string) {
	if auxiliary(dir) || d.hasDockerfile(dir) || d.isTaken(dir, files) {
		return
	}
	d.note("%s is a %s project, and nothing builds an image of it: add a Dockerfile whose COPY lines begin at the root of the tree", project(dir), kind)
}

// isTaken says whether a Dockerfile takes one of the files in a folder, or is no
// recipe yet and names the folder: what is to be said is said of the Dockerfile.
func (d *detection) isTaken(dir string, files []string) bool {
	for _, file := range files {
		name := path.Join(dir, file)
		if slices.ContainsFunc(d.images, func(c *candidate) bool { return c.dockerfile != nil && slices.Contains(c.dockerfile.files, name) }) {
			return true
		}
	}
	return slices.ContainsFunc(d.refused, func(content string) bool { return dir != "." && strings.Contains(content, dir) })
}

// hasDockerfile says whether a Dockerfile lies in the folder: what is to be said
// of the project is said of it.
func (d *detection) hasDockerfile(dir string) bool {
	return slices.ContainsFunc(d.seen, func(file string) bool { return path.Dir(file) == dir && isDockerfile(path.Base(file)) })
}

func project(dir string) string {
	if dir == "." {
		return "the root"
	}
	return dir
}
