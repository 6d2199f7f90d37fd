package detect

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/gopackage"
)

// programs finds the Go programs that no Dockerfile builds.
func (d *detection) programs(ctx context.Context) (err error) {
	if !slices.ContainsFunc(d.seen, func(file string) bool { return path.Base(file) == "go.mod" }) {
		return nil
	}
	d.goFolder, err = gopackage.Open(ctx, d.tree, d.options.Go)
	if errors.Is(err, gopackage.ErrNoGo) {
		d.left = true
		d.note("Go programs were not looked for: %v", err)
		return nil
	}
	if err != nil {
		return err
	}
	mains, problems, err := d.goFolder.Mains(ctx, catalogue.DefaultPlatform)
	if err != nil {
		return err
	}
	for _, p := range problems {
		d.left = true
		d.note("Go programs were not found: %s", p)
	}
	var left []string
	for _, m := range mains {
		dir := strings.TrimPrefix(m.Package, "./")
		if ignored(dir) || !writable(dir) {
			continue
		}
		by := slices.IndexFunc(d.candidates, func(c *candidate) bool { return c.dockerfile != nil && c.builds(dir) })
		if by >= 0 {
			c := d.candidates[by]
			c.comments = append(c.comments, "The Go program in "+project(dir)+" has no recipe of its own: the Dockerfile builds it, and is explicit.")
			continue
		}
		if len(d.candidates) == maxImages {
			left = append(left, dir)
			continue
		}
		d.candidates = append(d.candidates, &candidate{
			kind: catalogue.BuildGo, path: m.Package, dir: dir, importPath: m.ImportPath, module: m.Module,
		})
	}
	if len(left) > 0 {
		d.left = true
		d.note("%d Go programs are left out, from %s on: %d recipes are written at the most, write others by hand", len(left), left[0], maxImages)
	}
	return nil
}

// recipes says what goes into each image.
func (d *detection) recipes(ctx context.Context) error {
	var programs []*candidate
	var recipes []gopackage.Recipe
	for _, c := range d.images {
		if c.kind == catalogue.BuildDockerfile {
			d.dockerfileInputs(c)
			continue
		}
		programs = append(programs, c)
		recipes = append(recipes, gopackage.Recipe{Build: catalogue.GoBuild{Package: c.path}, Platforms: []string{catalogue.DefaultPlatform}})
	}
	if len(programs) == 0 {
		return nil
	}
	reads, err := d.goFolder.Reads(ctx, recipes)
	if err != nil {
		return err
	}
	for i, c := range programs {
		if err := d.program(ctx, c, reads[i]); err != nil {
			return err
		}
	}
	d.images = slices.DeleteFunc(d.images, func(c *candidate) bool { return len(c.inputs) == 0 })
	return nil
}

// program says what goes into the image of a Go program.
func (d *detection) program(ctx context.Context, c *candidate, reads gopackage.Reads) error {
	sources := slices.ContainsFunc(reads.Files, func(f gopackage.File) bool { return f.Why == gopackage.Source })
	if len(reads.Problems) > 0 && !sources {
		d.left = true
		d.note("%s makes no image yet: it does not load: %s", c.path, reads.Problems[0])
		return nil
	}
	const most = 3 // images --check says all
	for _, p := range reads.Problems[:min(len(reads.Problems), most)] {
		c.comments = append(c.comments, "It does not load: "+oneLine(p.String()))
	}
	d.goInputs(c, reads.Files)
	return d.pinToolchain(ctx, c)
}

// pinToolchain names a toolchain for a program whose module names none.
func (d *detection) pinToolchain(ctx context.Context, c *candidate) error {
	t, err := catalogue.GoToolchain(ctx, catalogue.GoBuild{Package: c.path}, d.tree)
	if _, ok := errors.AsType[*catalogue.InputError](err); ok {
		t, err = catalogue.Toolchain{}, nil
	}
	if err != nil {
		return err
	}
	if t.Pinned {
		return nil
	}
	c.toolchain, c.toolchainWhy = release(d.goFolder.GoVersion()), "The Go that was installed when this was written."
	if t.Name != "" {
		c.toolchainWhy += " " + t.From + "'s go line says only which Go is the oldest that will do."
	}
	return nil
}

// release is a version as build.go.toolchain takes it, "" for one that is no
// release.
func release(version string) string {
	const yaml = "apiVersion: pharos.dev/v1alpha1\nkind: Catalogue\nimages: [{name: x, build: {go: {package: ., toolchain: \"%\"}}, inputs: [x]}]\n"
	if _, err := catalogue.Parse("", []byte(strings.ReplaceAll(yaml, "%", version))); err != nil {
		return ""
	}
	return version
}

// oneLine is a text as it can stand in a comment.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
