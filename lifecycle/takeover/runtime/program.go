package runtime

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/lazyregexp"
)

// ErrUndetected is returned by Choose when nothing says how an image is run.
var ErrUndetected = errors.New("nothing says how it is run")

// Program is how an image is run, for a Spec.
type Program struct {
	Go      *catalogue.GoBuild
	Args    []string // nil is those of the manifest
	Command []string
	Dir     string
	Reload  catalogue.Reload
	// From is the file that said so, from the working tree's root and with slashes; ""
	// if it was pharos.yaml.
	From string
}

// Choose says how an image is run in a working tree: what its Run says, with the
// command of a Python or Node program, or what its folder holds:
//
//   - an image that is built from a Go program is built and run;
//   - a package.json's script dev, which takes up changes itself, else its script
//     start, by the package manager whose lock file there is;
//   - Python by Django's manage.py, by uvicorn or flask for an application that
//     main.py or app.py makes, else main.py, app.py or server.py itself, in a .venv
//     or venv if there is one. It is restarted by Pharos rather than by a reloader of
//     its own, so that requests under way can end.
//
// port is where a command is told to listen that has to be told; 0 is its own
// default. Files are read, and nothing is run. The error matches ErrUndetected.
func Choose(root string, image catalogue.Image, port uint16) (Program, error) {
	run := image.Run
	if run == nil {
		run = &catalogue.Run{}
	}
	p := Program{Dir: filepath.Join(root, filepath.FromSlash(run.Dir)), Reload: run.Reload}
	f := folder{root: root, dir: p.Dir, port: port}
	switch {
	case run.Go != nil:
		p.Go, p.Args, p.Reload = image.Build.Go, run.Go.Args, ""
	case run.Command != nil:
		p.Command = run.Command
	case run.Python != nil && run.Python.Module != "":
		p.Command = append([]string{f.python(), "-m", run.Python.Module}, run.Python.Args...)
	case run.Python != nil:
		p.Command = append([]string{f.python(), run.Python.Script}, run.Python.Args...)
	case run.Node != nil && run.Node.Script != "":
		p.Command = f.script(run.Node.Script, run.Node.Args...)
	case run.Node != nil:
		p.Command = append([]string{"node", run.Node.File}, run.Node.Args...)
	case image.Build.Go != nil:
		p.Go, p.Reload = image.Build.Go, ""
	default:
		if !f.node(&p) && !f.pythonProgram(&p) {
			return p, fmt.Errorf("%w: %s has no package.json with a script dev or start, and no Python program: write run.command for the image %s into pharos.yaml", ErrUndetected, p.Dir, image.Name)
		}
		if rel, err := filepath.Rel(root, filepath.Join(p.Dir, p.From)); err == nil {
			p.From = filepath.ToSlash(rel)
		}
	}
	return p, nil
}

// folder is where a program is looked for.
type folder struct {
	root, dir string
	port      uint16
}

// above finds a file in the folder, or in one above it in the working tree.
func (f folder) above(name string) (place string, ok bool) {
	for dir := f.dir; ; dir = filepath.Dir(dir) {
		place := filepath.Join(dir, filepath.FromSlash(name))
		if _, err := os.Stat(place); err == nil {
			return place, true
		}
		if rel, err := filepath.Rel(f.root, dir); err != nil || rel == "." || !filepath.IsLocal(rel) {
			return "", false
		}
	}
}

// read reads the beginning of a file; it is empty if it cannot be read.
func (f folder) read(name string) []byte {
	file, err := os.Open(filepath.Join(f.dir, name))
	if err != nil {
		return nil
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	data, _ := io.ReadAll(io.LimitReader(file, 1<<20))
	return data
}

// python is the interpreter of the virtual environment, or the one of the PATH.
func (f folder) python() string {
	for _, name := range []string{".venv/bin/python", "venv/bin/python"} {
		if place, ok := f.above(name); ok {
			return place
		}
	}
	return "python3"
}

// script runs a script of a package.json.
func (f folder) script(name string, args ...string) []string {
	for _, manager := range []struct{ lock, program string }{
		{"pnpm-lock.yaml", "pnpm"}, {"yarn.lock", "yarn"}, {"bun.lock", "bun"}, {"bun.lockb", "bun"},
	} {
		if _, ok := f.above(manager.lock); ok {
			return append([]string{manager.program, "run", name}, args...)
		}
	}
	command := []string{"npm", "run", name}
	if len(args) > 0 {
		command = append(command, "--") // npm would take flags for its own
	}
	return append(command, args...)
}

func (f folder) node(p *Program) bool {
	var content struct {
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal(f.read("package.json"), &content) != nil {
		return false
	}
	p.From = "package.json"
	switch {
	case content.Scripts["dev"] != "":
		p.Command, p.Reload = f.script("dev"), catalogue.ReloadSelf
	case content.Scripts["start"] != "":
		p.Command, p.Reload = f.script("start"), catalogue.ReloadRestart
	default:
		return false
	}
	return true
}

// application is where a Python file makes one of a framework.
var application = lazyregexp.New(`(?m)^([A-Za-z_][A-Za-z_0-9]*)[ \t]*(?::[^=\n]*)?=[ \t]*(?:[a-z_]+\.)?(FastAPI|Starlette|Quart|Flask)\(`)

func (f folder) pythonProgram(p *Program) bool {
	p.Reload = catalogue.ReloadRestart
	if len(f.read("manage.py")) > 0 {
		p.From, p.Command = "manage.py", []string{f.python(), "manage.py", "runserver", "--noreload"}
		if f.port != 0 {
			p.Command = append(p.Command, "127.0.0.1:"+strconv.Itoa(int(f.port)))
		}
		return true
	}
	for _, module := range []string{"main", "app", "server"} {
		text := f.read(module + ".py")
		if len(text) == 0 {
			continue
		}
		p.From, p.Command = module+".py", []string{f.python(), module + ".py"}
		made := application.FindStringSubmatch(string(text))
		if made == nil || strings.Contains(string(text), "__main__") {
			return true // it starts its server itself, as far as can be seen
		}
		p.Command = []string{f.python(), "-m", "uvicorn", module + ":" + made[1]}
		if made[2] == "Flask" {
			p.Command = []string{f.python(), "-m", "flask", "--app", module + ":" + made[1], "run"}
		}
		if f.port != 0 {
			p.Command = append(p.Command, "--port", strconv.Itoa(int(f.port)))
		}
		return true
	}
	return false
}
