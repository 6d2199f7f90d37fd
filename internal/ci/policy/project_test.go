package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// command runs a program in the project's root and returns what it printed.
func command(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return out
}

var root = filepath.Join("..", "..", "..")

// packages are the packages of the main module. A platform's own files count where the platform does.
func packages(t *testing.T) []Package {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(command(t, "go", "list", "-json=ImportPath,Name,Dir,Deps,GoFiles,TestGoFiles,XTestGoFiles", "./...")))
	var all []Package
	for {
		var p struct {
			ImportPath string
			Package
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		p.Path = p.ImportPath
		all = append(all, p.Package)
	}
}

// read parses some files of a package; they are named in findings by their path in the project.
func read(t *testing.T, p Package, names []string) *source {
	t.Helper()
	files := map[string][]byte{}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		dir := strings.TrimPrefix(strings.TrimPrefix(p.Path, Module), "/")
		files[filepath.Join(dir, name)] = text
	}
	s, err := parse(p.Path, files)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func report(t *testing.T, findings []string) {
	t.Helper()
	for _, f := range findings {
		t.Error(f)
	}
}

func TestPackagesLinkTheirLayer(t *testing.T) {
	t.Parallel()
	report(t, checkLinks(packages(t)))
}

func TestModuleCanBeImported(t *testing.T) {
	t.Parallel()
	var m modFile
	if err := json.Unmarshal(command(t, "go", "mod", "edit", "-json"), &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Require) == 0 {
		t.Fatal("no requirement was read")
	}
	report(t, checkModule(m))
}

func TestSources(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		t.Run(strings.TrimPrefix(p.Path, Module+"/"), func(t *testing.T) {
			t.Parallel()
			s := read(t, p, p.GoFiles)
			// Packages for tests and commands talk to the process: that is what they are for.
			if p.Name != "main" && !strings.HasSuffix(p.Name, "test") && !below(p.Path, "internal/devenv") &&
				!below(p.Path, "kubectl-pharos") && !below(p.Path, "examples") {
				report(t, checkWorldly(s))
				report(t, checkState(s))
			}
			if !below(p.Path, "internal/keys") && !below(p.Path, "internal/ci/policy") {
				report(t, checkKeys(s))
			}
			for _, names := range [][]string{p.TestGoFiles, p.XTestGoFiles} {
				report(t, checkTests(read(t, p, names)))
			}
		})
	}
}

func TestPublicPackagesExplainThemselves(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if !public(p.Path) || p.Name == "main" {
			continue
		}
		t.Run(strings.TrimPrefix(p.Path, Module+"/"), func(t *testing.T) {
			t.Parallel()
			report(t, checkDocs(read(t, p, p.GoFiles)))
			if p.Path != Module { // the overview holds no code
				report(t, checkExample(p.Path, []*source{read(t, p, p.TestGoFiles), read(t, p, p.XTestGoFiles)}))
			}
		})
	}
}

func TestTextHoldsOnEveryMachine(t *testing.T) {
	t.Parallel()
	names := strings.Split(strings.TrimSuffix(string(command(t, "git", "ls-files", "-z")), "\x00"), "\x00")
	if len(names) < 10 {
		t.Fatalf("only the files %q", names)
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted and not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		report(t, checkText(name, text))
	}
}
