package image

import (
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent"
)

// Name is the image's name, and its repository's last element.
const Name = "pharos-agent"

const (
	folder  = "lifecycle/takeover/agent"
	program = folder + "/pharos-agent"
)

// The agent is a module of its own here: of Pharos's requirements it has those that
// it needs, so that little is downloaded to build it.
var (
	//go:embed module/go.mod.txt
	goMod string
	//go:embed module/go.sum.txt
	goSum string
)

// recipe is the catalogue of the agent's tree.
const recipe = `apiVersion: pharos.dev/v1alpha1
kind: Catalogue
images:
- name: ` + Name + `
  build:
    go:
      package: ./` + program + `
      ldflags: [-s, -w]
      tags: [pharos_agent]
  inputs: [lifecycle, go.mod, go.sum]
  platforms: [%s]
`

// tree returns the agent's sources, with a catalogue for the platforms.
func tree(platforms []string) (source.Tree, error) {
	files := map[string]source.File{
		"go.mod":           {Content: goMod},
		"go.sum":           {Content: goSum},
		catalogue.FileName: {Content: fmt.Sprintf(recipe, strings.Join(platforms, ", "))},
	}
	err := fs.WalkDir(agent.Sources, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := agent.Sources.ReadFile(name)
		files[path.Join(folder, name)] = source.File{Content: string(content)}
		return err
	})
	if err != nil {
		return source.Tree{}, fmt.Errorf("read the agent's sources: %w", err)
	}
	return source.FromFiles(files)
}

// state is what the agent's program is built from, for the platforms.
func state(ctx context.Context, platforms []string) (catalogue.State, source.Tree, error) {
	all, err := tree(platforms)
	if err != nil {
		return catalogue.State{}, source.Tree{}, err
	}
	c, err := catalogue.Load(ctx, all)
	if err != nil {
		return catalogue.State{}, source.Tree{}, fmt.Errorf("read the agent's recipe: %w", err)
	}
	states, err := c.States(ctx, all)
	if err != nil {
		return catalogue.State{}, source.Tree{}, fmt.Errorf("compute the agent's fingerprint: %w", err)
	}
	return states[0], all, nil
}
