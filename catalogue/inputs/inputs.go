package inputs

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/gopackage"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/buildcontext"
	"github.com/pharos-dev/pharos/internal/treefiles"
)

// Config is what the go command is run with; see gopackage.Config.
type Config = gopackage.Config

// Check compares what each recipe of a tree's pharos.yaml reads of the tree with
// its inputs. It finds
//
//   - files that the recipe reads of the whole tree and would not see in a build
//   - patterns of inputs of which the recipe reads no file
//   - Dockerfiles that were written for a build in a folder, not at the root
//   - sources of a Dockerfile that match nothing, or of which it cannot be said
//     what they take
//   - secrets and SSH agents that a Dockerfile mounts and the recipe does not
//     declare, and those that it declares and nothing mounts
//   - Go packages that do not load
//   - what an image of files is refused for when it is built, but for pointers of
//     Git LFS that no .gitattributes file announces, and platforms
//
// What catalogue.Check finds is not among them. The findings come in the
// catalogue's order. That there is no go command is one more, on no image, if
// there are Go images: no others need it. The error is the one of catalogue.Load, a
// *catalogue.TooLargeError, or says what could not be read.
func Check(ctx context.Context, tree source.Tree, c Config) ([]catalogue.Finding, error) {
	loaded, err := catalogue.Load(ctx, tree)
	if err != nil {
		return nil, err
	}
	files, err := treefiles.List(ctx, tree)
	if err != nil {
		return nil, err
	}
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = f.Path
	}
	contexts, err := buildcontext.New(ctx, tree, paths)
	if err != nil {
		return nil, err
	}
	programs, err := readPrograms(ctx, tree, loaded, c)
	if err != nil {
		return nil, err
	}
	var findings []catalogue.Finding
	for _, image := range loaded.Images {
		k := &check{ctx: ctx, tree: tree, image: image, paths: paths, contexts: contexts}
		switch {
		case image.Build.Go != nil:
			k.goImage(programs)
		case image.Build.Dockerfile != nil:
			err = k.dockerfile()
		case image.Build.Files != nil:
			k.files()
			err = k.refused()
		}
		if err != nil {
			return nil, fmt.Errorf("check image %s: %w", image.Name, err)
		}
		findings = append(findings, k.findings...)
	}
	if programs.noGo != nil {
		findings = append(findings, catalogue.Finding{Message: fmt.Sprintf(
			"the inputs of Go images (%s) cannot be compared with what their packages read: %v", strings.Join(programs.names, ", "), programs.noGo)})
	}
	return findings, nil
}

// check compares for one image.
type check struct {
	ctx      context.Context
	tree     source.Tree
	image    catalogue.Image
	paths    []string // of all files of the tree
	contexts *buildcontext.Finder
	findings []catalogue.Finding
}

func (k *check) add(f catalogue.Finding) {
	f.Image = k.image.Name
	k.findings = append(k.findings, f)
}

// programs are what the Go images read, by the image's name.
type programs struct {
	names []string
	reads map[string]gopackage.Reads
	noGo  error // there is no go command
}

// readPrograms asks the go command once for all images.
func readPrograms(ctx context.Context, tree source.Tree, c *catalogue.Catalogue, config Config) (p programs, err error) {
	var recipes []gopackage.Recipe
	for _, image := range c.Images {
		if image.Build.Go != nil {
			p.names = append(p.names, image.Name)
			recipes = append(recipes, gopackage.Recipe{Build: *image.Build.Go, Platforms: image.Platforms})
		}
	}
	if len(recipes) == 0 {
		return p, nil
	}
	folder, err := gopackage.Open(ctx, tree, config)
	if errors.Is(err, gopackage.ErrNoGo) {
		p.noGo = err
		return p, nil
	}
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	reads, err := folder.Reads(ctx, recipes)
	if err != nil {
		return p, err
	}
	p.reads = map[string]gopackage.Reads{}
	for i, name := range p.names {
		p.reads[name] = reads[i]
	}
	return p, nil
}

func (k *check) files() {
	from := path.Clean(k.image.Build.Files.From)
	read := slices.DeleteFunc(slices.Clone(k.paths), func(name string) bool { return !below(name, from) })
	if len(read) > 0 { // else from is to be corrected first, which is catalogue.Check's to say
		k.unread(read, from)
	}
}

// below says whether a file is the folder or inside of it.
func below(name, dir string) bool {
	return dir == "." || name == dir || len(name) > len(dir) && name[len(dir)] == '/' && name[:len(dir)] == dir
}
