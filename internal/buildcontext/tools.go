package buildcontext

import (
	"context"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxTool is how large a tool's file is looked at, in bytes.
const maxTool = 1 << 20

// readTool reads a Compose file or a skaffold.yaml. What is not understood in it
// says nothing.
func (f *Finder) readTool(ctx context.Context, name string) error {
	base := path.Base(name)
	ext := path.Ext(base)
	if ext != ".yaml" && ext != ".yml" {
		return nil
	}
	compose := strings.HasPrefix(base, "docker-compose.") || strings.HasPrefix(base, "compose.")
	if !compose && base != "skaffold"+ext {
		return nil
	}
	entry, err := f.tree.Lookup(ctx, name)
	if err != nil || !entry.Mode.IsFile() {
		return err
	}
	r, size, err := f.tree.Objects.Blob(ctx, entry.ID)
	if err != nil {
		return err
	}
	if err := r.Close(); err != nil || size > maxTool {
		return err
	}
	data, err := f.tree.ReadFile(ctx, name)
	if err != nil {
		return err
	}
	if compose {
		f.compose(name, data)
	} else {
		f.skaffold(name, data)
	}
	return nil
}

func (f *Finder) compose(name string, data []byte) {
	var file struct {
		Services map[string]struct {
			Build yaml.Node `yaml:"build"`
		} `yaml:"services"`
	}
	_ = yaml.Unmarshal(data, &file) // fields of another type are left out
	for _, s := range file.Services {
		switch s.Build.Kind {
		case yaml.ScalarNode:
			f.says(name, s.Build.Value, "")
		case yaml.MappingNode:
			var build struct {
				Context    string `yaml:"context"`
				Dockerfile string `yaml:"dockerfile"`
				Inline     string `yaml:"dockerfile_inline"`
			}
			if err := s.Build.Decode(&build); err == nil && build.Inline == "" {
				f.says(name, build.Context, build.Dockerfile)
			}
		}
	}
}

func (f *Finder) skaffold(name string, data []byte) {
	var file struct {
		Build struct {
			Artifacts []struct {
				Context string `yaml:"context"`
				Docker  struct {
					Dockerfile string `yaml:"dockerfile"`
				} `yaml:"docker"`
			} `yaml:"artifacts"`
		} `yaml:"build"`
	}
	_ = yaml.Unmarshal(data, &file)
	for _, a := range file.Build.Artifacts {
		f.says(name, a.Context, a.Docker.Dockerfile)
	}
}

// says notes a context and the Dockerfile in it, which are relative as both tools
// have it: the context to the file, the Dockerfile to the context.
func (f *Finder) says(from, dir, file string) {
	if strings.Contains(dir, ":") || path.IsAbs(dir) || path.IsAbs(file) || strings.Contains(dir+file, "$") {
		return
	}
	dir = path.Join(path.Dir(from), dir)
	if file == "" {
		file = "Dockerfile"
	}
	file = path.Join(dir, file)
	c := said{dir, from}
	if f.files[file] && !slices.Contains(f.contexts[file], c) {
		f.contexts[file] = append(f.contexts[file], c)
		slices.SortFunc(f.contexts[file], func(a, b said) int {
			return strings.Compare(a.dir+"\x00"+a.from, b.dir+"\x00"+b.from)
		})
	}
}
