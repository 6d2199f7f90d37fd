package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// module is a dependency and the folders of its packages that are linked.
type module struct {
	Path, Version, Dir string
	folders            map[string]bool
}

// linked returns the modules, other than the main one, whose code the packages in dir link on any of the platforms,
// tests left out, sorted by path.
func linked(dir string, platforms []string) ([]*module, error) {
	modules := map[string]*module{}
	for _, platform := range platforms {
		goos, goarch, _ := strings.Cut(platform, "/")
		cmd := exec.Command("go", "list", "-deps", "-json=Dir,Module", "./...")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w: %s", platform, err, strings.TrimSpace(stderr.String()))
		}
		if err := collect(modules, json.NewDecoder(bytes.NewReader(out))); err != nil {
			return nil, fmt.Errorf("go list for %s: %w", platform, err)
		}
	}
	return slices.SortedFunc(maps.Values(modules), func(a, b *module) int { return strings.Compare(a.Path, b.Path) }), nil
}

func collect(modules map[string]*module, packages *json.Decoder) error {
	for {
		var p struct {
			Dir    string
			Module *struct {
				Path, Version, Dir string
				Main               bool
			}
		}
		if err := packages.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if p.Module == nil || p.Module.Main {
			continue
		}
		m := modules[p.Module.Path]
		if m == nil {
			m = &module{Path: p.Module.Path, Version: p.Module.Version, Dir: p.Module.Dir, folders: map[string]bool{}}
			modules[m.Path] = m
		}
		m.folders[p.Dir] = true
	}
}
