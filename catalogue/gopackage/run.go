package gopackage

import (
	"context"
	"errors"
	"fmt"
	"go/version"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/gocommand"
)

// run is one run of "go list" for all packages that it gives the same answer.
type run struct {
	module   *module
	settings map[string]string
	tags     string
	packages []wanted
}

// wanted is a package's folder, and the recipe that asks for it.
type wanted struct {
	dir    string
	recipe int
}

// plan says which runs there must be. What keeps a recipe from being looked at
// becomes a problem of its own.
func (f *Folder) plan(ctx context.Context, recipes []Recipe, all []reading) ([]*run, error) {
	var runs []*run
	known := map[string]*run{}
	for i, r := range recipes {
		pkg := clean(r.Build.Package)
		m, err := f.findModule(pkg, r.Build.Env)
		if err != nil {
			all[i].problem(Problem{Message: f.text(err.Error())})
			continue
		}
		for _, file := range m.files {
			f.file(&all[i], file, Module, "")
		}
		if profile := path.Join(pkg, "default.pgo"); f.isFile(profile) {
			f.file(&all[i], profile, Profile, "")
		}
		toolchain, err := f.toolchain(ctx, r.Build)
		if input, ok := errors.AsType[*catalogue.InputError](err); ok {
			all[i].problem(Problem{At: input.Path, Message: input.Reason})
			continue
		}
		if err != nil {
			return nil, err
		}
		if problem, err := f.older(ctx, r.Build); err != nil {
			return nil, err
		} else if problem.Message != "" {
			all[i].problem(problem)
			continue
		}
		for _, p := range r.Platforms {
			platform, err := catalogue.ParsePlatform(p)
			if err != nil {
				all[i].problem(Problem{Message: fmt.Sprintf("platform %q %v", p, err)})
				continue
			}
			build, err := r.Build.Expand(catalogue.GoValues{Platform: platform})
			if err != nil {
				all[i].problem(Problem{Recipe: true, Message: err.Error()})
				break
			}
			next := &run{module: m, tags: strings.Join(build.Tags, ","), settings: f.settings(r.Build, m, platform)}
			next.settings["GOTOOLCHAIN"] = toolchain
			key := next.key()
			if known[key] == nil {
				known[key] = next
				runs = append(runs, next)
			}
			known[key].packages = append(known[key].packages, wanted{pkg, i})
		}
	}
	return runs, nil
}

func (r *run) key() string {
	key := r.module.dir + "\x00" + r.tags
	for _, name := range slices.Sorted(maps.Keys(r.settings)) {
		key += "\x00" + name + "=" + r.settings[name]
	}
	return key
}

// settings are what the go command is told of a recipe and a platform.
func (f *Folder) settings(b catalogue.GoBuild, m *module, p catalogue.Platform) map[string]string {
	s := map[string]string{}
	maps.Copy(s, b.Env)
	maps.Copy(s, gocommand.Platform(p.OS, p.Architecture, p.Variant))
	s["GOWORK"] = "off"
	if m.workDir != "" {
		s["GOWORK"] = f.disk(path.Join(m.workDir, "go.work"))
	}
	return s
}

// toolchain is the GOTOOLCHAIN by which build constraints are judged.
func (f *Folder) toolchain(ctx context.Context, b catalogue.GoBuild) (string, error) {
	t, err := catalogue.GoToolchain(ctx, b, f.tree)
	if err != nil || !t.Pinned {
		return "local", err
	}
	here := f.GoVersion()
	if version.Lang(here) == version.Lang(t.Name) && version.Compare(here, t.Name) >= 0 {
		return "local", nil // it chooses the same files, and is there
	}
	return t.Name, nil
}

// older says whether the recipe's toolchain is older than the module allows.
func (f *Folder) older(ctx context.Context, b catalogue.GoBuild) (Problem, error) {
	if b.Toolchain == "" {
		return Problem{}, nil
	}
	oldest, err := catalogue.OldestGo(ctx, b, f.tree)
	if _, told := errors.AsType[*catalogue.InputError](err); told {
		return Problem{}, nil // by the go command
	}
	if err != nil || version.Compare(b.Toolchain, oldest.Name) >= 0 {
		return Problem{}, err
	}
	return Problem{At: oldest.From, Recipe: true, Message: fmt.Sprintf(
		"build.go.toolchain %s is older than %s's go %s: raise it", b.Toolchain, oldest.From, strings.TrimPrefix(oldest.Name, "go"))}, nil
}

// arguments are those of "go list". The profile is left out since with it there
// would be a package of its own for every program.
func (r *run) arguments(f *Folder) ([]string, error) {
	mod := "-mod=readonly"
	if r.module.vendored {
		mod = "-mod=vendor"
	}
	args := []string{"list", "-e", "-deps", "-pgo=off", mod, "-json=" + listFields}
	if r.tags != "" {
		args = append(args, "-tags="+r.tags)
	}
	args = append(args, "--")
	for _, w := range r.packages {
		rel, err := filepath.Rel(f.disk(r.module.dir), f.disk(w.dir))
		if err != nil {
			return nil, err
		}
		args = append(args, "."+string(filepath.Separator)+rel)
	}
	return args, nil
}
