//go:build unix

package runtime_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/lifecycle/takeover/runtime"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	const dev = `{"scripts": {"dev": "vite", "start": "node ."}}`
	build := &catalogue.GoBuild{Package: "."}
	for name, tt := range map[string]struct {
		files   map[string]string
		image   catalogue.Image
		command string // joined; ROOT is the root
		reload  catalogue.Reload
		from    string
	}{
		"a Go build":           {image: catalogue.Image{Build: catalogue.Build{Go: build}}},
		"go":                   {image: catalogue.Image{Build: catalogue.Build{Go: build}, Run: &catalogue.Run{Go: &catalogue.GoRun{Args: []string{"-v"}}}}},
		"a command":            {image: catalogue.Image{Run: &catalogue.Run{Command: []string{"a", "b"}, Reload: catalogue.ReloadSignal}}, command: "a b", reload: catalogue.ReloadSignal},
		"a module":             {image: catalogue.Image{Run: &catalogue.Run{Python: &catalogue.PythonRun{Module: "m", Args: []string{"x"}}, Reload: catalogue.ReloadRestart}}, command: "python3 -m m x", reload: catalogue.ReloadRestart},
		"a Python file":        {image: catalogue.Image{Run: &catalogue.Run{Python: &catalogue.PythonRun{Script: "s.py"}}}, files: map[string]string{"venv/bin/python": ""}, command: "ROOT/venv/bin/python s.py"},
		"a script":             {image: catalogue.Image{Run: &catalogue.Run{Node: &catalogue.NodeRun{Script: "x", Args: []string{"--y"}}, Reload: catalogue.ReloadSelf}}, command: "npm run x -- --y", reload: catalogue.ReloadSelf},
		"a Node file":          {image: catalogue.Image{Run: &catalogue.Run{Node: &catalogue.NodeRun{File: "s.js"}}}, command: "node s.js"},
		"a package.json":       {files: map[string]string{"web/package.json": dev}, image: catalogue.Image{Run: &catalogue.Run{Dir: "web"}}, command: "npm run dev", reload: catalogue.ReloadSelf, from: "web/package.json"},
		"with pnpm":            {files: map[string]string{"web/package.json": dev, "pnpm-lock.yaml": ""}, image: catalogue.Image{Run: &catalogue.Run{Dir: "web"}}, command: "pnpm run dev", reload: catalogue.ReloadSelf, from: "web/package.json"},
		"with yarn":            {files: map[string]string{"package.json": dev, "yarn.lock": ""}, command: "yarn run dev", reload: catalogue.ReloadSelf, from: "package.json"},
		"start only":           {files: map[string]string{"package.json": `{"scripts": {"start": "x"}}`}, command: "npm run start", reload: catalogue.ReloadRestart, from: "package.json"},
		"FastAPI":              {files: map[string]string{"main.py": "from fastapi import FastAPI\napi: FastAPI = FastAPI()\n", ".venv/bin/python": ""}, command: "ROOT/.venv/bin/python -m uvicorn main:api --port 81", reload: catalogue.ReloadRestart, from: "main.py"},
		"Flask":                {files: map[string]string{"app.py": "import flask\napp = flask.Flask(__name__)\n"}, command: "python3 -m flask --app app:app run --port 81", reload: catalogue.ReloadRestart, from: "app.py"},
		"Django":               {files: map[string]string{"manage.py": "x"}, command: "python3 manage.py runserver --noreload 127.0.0.1:81", reload: catalogue.ReloadRestart, from: "manage.py"},
		"what starts itself":   {files: map[string]string{"main.py": "app = FastAPI()\nif __name__ == '__main__':\n    uvicorn.run(app)\n"}, command: "python3 main.py", reload: catalogue.ReloadRestart, from: "main.py"},
		"any Python":           {files: map[string]string{"server.py": "x"}, command: "python3 server.py", reload: catalogue.ReloadRestart, from: "server.py"},
		"a broken description": {files: map[string]string{"package.json": "{", "main.py": "x"}, command: "python3 main.py", reload: catalogue.ReloadRestart, from: "main.py"},
	} {
		root := t.TempDir()
		for file, content := range tt.files {
			write(t, root, file, content)
		}
		p, err := runtime.Choose(root, tt.image, 81)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		dir := root
		if tt.image.Run != nil {
			dir = filepath.Join(root, tt.image.Run.Dir)
		}
		if got := strings.ReplaceAll(strings.Join(p.Command, " "), root, "ROOT"); got != tt.command || p.Reload != tt.reload || p.From != tt.from || p.Dir != dir {
			t.Errorf("%s: %q, %+v", name, got, p)
		}
		if p.Go != tt.image.Build.Go || tt.image.Run != nil && tt.image.Run.Go != nil && !slices.Equal(p.Args, tt.image.Run.Go.Args) {
			t.Errorf("%s: %+v", name, p)
		}
	}
	for _, files := range []map[string]string{nil, {"package.json": "{}"}, {"package.json/main.py": "x"}, {"main.py": ""}} {
		root := t.TempDir()
		for file, content := range files {
			write(t, root, file, content)
		}
		if p, err := runtime.Choose(root, catalogue.Image{Name: "web"}, 0); !errors.Is(err, runtime.ErrUndetected) {
			t.Errorf("%v: %+v, %v", files, p, err)
		}
	}
}

// Lines come whole, and long ones in pieces.
func TestOutput(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "a", "")
	c := config(t, root, "a")
	c.Command = []string{"/bin/sh", "-c", `printf 'one\ntw'; printf 'o\n\n'; head -c 200000 /dev/zero | tr '\0' x; printf '\n'; head -c 65530 /dev/zero | tr '\0' x; printf 'a secret in two pieces\nend'`}
	c.Policy.Restarts, c.Policy.Pause = 1, 1
	r := start(t, c)
	r.until(0, runtime.EventParked)
	var lines []string
	long := 0
	for _, piece := range r.output.all() {
		if len(piece) > 64<<10 {
			t.Errorf("a piece has %d bytes", len(piece))
		}
	}
	for line := range strings.Lines(strings.Join(r.output.all(), "")) {
		if n := strings.Count(line, "x"); n > 0 {
			long += n
		}
		lines = append(lines, strings.TrimLeft(line, "x"))
	}
	if want := []string{"one\n", "two\n", "\n", "\n", "a secret in two pieces\n", "end\n"}; !slices.Equal(lines, append(want, want...)) || long != 2*(200_000+65_530) {
		t.Errorf("the lines are %q and %d bytes", lines, long)
	}
}
