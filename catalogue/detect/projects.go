package detect

import (
	"context"
	"path"
	"slices"

	"github.com/pharos-dev/pharos/catalogue"
)

// projects finds Node and Python projects: what runs them beside an image, and
// those of which nothing builds one.
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
			d.node(dir, parsePackageJSON(data))
		case "pyproject.toml", "requirements.txt", "setup.py", "Pipfile", "manage.py":
			if !done[dir] {
				done[dir] = true
				d.python(dir)
			}
		}
	}
	return nil
}

// imageOf returns the image that a Dockerfile builds of the project in a folder:
// one that lies there, or the only one that takes the project's file.
func (d *detection) imageOf(dir, file string) *candidate {
	var taking []*candidate
	for _, c := range d.images {
		switch {
		case c.dockerfile == nil:
		case c.dir == dir:
			return c
		case slices.Contains(c.dockerfile.files, path.Join(dir, file)):
			taking = append(taking, c)
		}
	}
	if len(taking) == 1 {
		return taking[0]
	}
	return nil
}

func (d *detection) node(dir string, p packageJSON) {
	_, dev := p.Scripts["dev"]
	_, start := p.Scripts["start"]
	_, build := p.Scripts["build"]
	c := d.imageOf(dir, "package.json")
	switch {
	case c == nil && (start || build) && !d.hasDockerfile(dir) && !auxiliary(dir):
		d.note("%s is a Node project, and nothing builds an image of it: add a Dockerfile whose COPY lines begin at the root of the tree", project(dir))
	case c == nil || c.run != nil:
	case dev:
		c.run = &run{command: d.nodeCommand(dir, "dev"), reload: catalogue.ReloadSelf,
			why: "The dev script of " + path.Join(dir, "package.json") + "; such a script takes up changes itself."}
	case start:
		c.run = &run{command: d.nodeCommand(dir, "start"), reload: catalogue.ReloadRestart,
			why: "The start script of " + path.Join(dir, "package.json") + "."}
	}
}

// nodeCommand runs a script of the project in a folder with the package manager
// whose lock file lies there.
func (d *detection) nodeCommand(dir, script string) []string {
	program, flag := "npm", "--prefix"
	switch {
	case d.isFile[path.Join(dir, "pnpm-lock.yaml")]:
		program, flag = "pnpm", "--dir"
	case d.isFile[path.Join(dir, "yarn.lock")]:
		program, flag = "yarn", "--cwd"
	}
	command := []string{program}
	if dir != "." {
		command = append(command, flag, dir)
	}
	return append(command, "run", script)
}

func (d *detection) python(dir string) {
	var c *candidate
	for _, file := range []string{"pyproject.toml", "requirements.txt", "setup.py", "Pipfile", "manage.py"} {
		if c = d.imageOf(dir, file); c != nil {
			break
		}
	}
	if c == nil {
		if !d.hasDockerfile(dir) && !auxiliary(dir) {
			d.note("%s is a Python project, and nothing builds an image of it: add a Dockerfile whose COPY lines begin at the root of the tree", project(dir))
		}
		return
	}
	for _, file := range []string{"manage.py", "main.py", "app.py"} {
		name := path.Join(dir, file)
		if c.run != nil || !d.isFile[name] {
			continue
		}
		c.run = &run{command: []string{"python", name}, reload: catalogue.ReloadRestart, why: name + " lies there."}
		if file == "manage.py" {
			c.run.command, c.run.reload = append(c.run.command, "runserver"), catalogue.ReloadSelf
			c.run.why = name + " lies there; its runserver takes up changes itself."
		}
	}
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
