package files

import (
	"context"
	"errors"
	"path"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/layer"
	"github.com/pharos-dev/pharos/lifecycle/build/internal/problem"
)

// content is what goes into the layer.
type content struct {
	from string // in the tree
	// folder is what becomes an archive.
	folder source.Tree
	// file goes in as it is, if its ID is not empty, under that title.
	file  source.Entry
	title string
}

// everything is the pattern that chooses all of a tree.
var everything = []string{"**"}

// find finds the recipe's folder, or its file, among the inputs.
func (b *build) find(ctx context.Context) (*content, error) {
	p := problem.List{Image: b.request.State.Image.Name}
	from := path.Clean("./" + b.recipe.From)
	entry, err := b.request.State.Inputs.Lookup(ctx, from)
	switch {
	case errors.Is(err, source.ErrNotFound):
		if err := b.missing(ctx, from, &p); err != nil {
			return nil, b.failed(err)
		}
		return nil, p.Err()
	case err != nil:
		return nil, b.failed(err)
	}
	found := content{from: from}
	switch entry.Mode {
	case source.ModeDir:
		if found.folder, err = b.folder(ctx, from, entry.ID, &p); err == nil && !p.Any() {
			err = b.fit(ctx, from, &found, &p)
		}
	case source.ModeSymlink:
		p.Add("build.files.from: %s is a symbolic link: name the folder that it leads to", from)
	case source.ModeSubmodule:
		p.Add("build.files.from: %s is a submodule, whose files are not in this repository", from)
	default:
		if !b.form.artifact {
			p.Add("build.files.from: %s is a file, and an image is made of a folder: write from: %s, with %q as its pattern among the inputs", from, path.Dir(from), problem.Literal(from))
		}
		found.file, found.title = entry, path.Base(from)
	}
	if err != nil {
		return nil, b.failed(err)
	}
	if found.file.ID != "" && path.Clean("/"+b.recipe.Root) != "/" {
		p.Add("build.files.root: %s is for a folder, and %s goes in as it is: leave root out", b.recipe.Root, found.title)
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	return &found, nil
}

// missing says how what is not among the inputs becomes one of them.
func (b *build) missing(ctx context.Context, from string, p *problem.List) error {
	_, err := b.request.Full.Lookup(ctx, from)
	switch {
	case errors.Is(err, source.ErrNotFound):
		p.Add("build.files.from: the tree has no %s", from)
	case err != nil:
		return err
	default:
		p.Miss(from, problem.Literal(from))
	}
	return nil
}

// folder checks the folder by the rules of pruned trees, as a tree of its own: what
// a link leads to must go in with it.
func (b *build) folder(ctx context.Context, from string, id source.ID, p *problem.List) (source.Tree, error) {
	all, err := catalogue.ParsePatterns(everything)
	if err != nil {
		return source.Tree{}, err
	}
	tree, _, err := catalogue.Prune(ctx, source.Tree{ID: id, Objects: b.request.State.Inputs.Objects}, all)
	for _, err := range leaves(err) {
		link, isLink := errors.AsType[*catalogue.SymlinkError](err)
		submodule, isSubmodule := errors.AsType[*catalogue.SubmoduleError](err)
		pointer, isPointer := errors.AsType[*catalogue.LFSError](err)
		switch {
		case isLink:
			p.Add("symbolic link %s -> %s leads to nothing in %s, and that is all that goes in: exclude the link, or name a folder above both in build.files.from",
				path.Join(from, link.Path), link.Target, inWords(from))
		case isSubmodule:
			p.Add("%v", &catalogue.SubmoduleError{Path: path.Join(from, submodule.Path)})
		case isPointer:
			p.Add("%v", &catalogue.LFSError{Path: path.Join(from, pointer.Path)})
		case errors.Is(err, catalogue.ErrEmpty):
			p.Add("build.files.from: %s holds no file", inWords(from))
		default:
			return tree, err
		}
	}
	return tree, nil
}

// fit says whether the form can be made of the folder, and takes its only file
// where that goes in as it is.
func (b *build) fit(ctx context.Context, from string, found *content, p *problem.List) error {
	count, name, last := 0, "", source.Entry{}
	err := found.folder.Walk(ctx, func(at string, e source.Entry) error {
		if e.Mode == source.ModeDir {
			return nil
		}
		if !b.form.artifact && strings.HasPrefix(e.Name, layer.Whiteout) {
			p.Add("%s: in an image's layer a name that begins with %s is a deletion: exclude it, or call it otherwise", path.Join(from, at), layer.Whiteout)
		}
		count, name, last = count+1, at, e
		return nil
	})
	switch {
	case err != nil:
		return err
	case !b.form.tar && (count > 1 || !last.Mode.IsFile()):
		p.Add("build.files.mediaType: %s is the type of one file, and %s holds %d: name the file in build.files.from, or a type that ends with .tar+gzip", b.form.mediaType, inWords(from), count)
	case !b.form.tar:
		found.file, found.title = last, name
	case b.form.artifact && count == 1 && isArchive(name):
		p.Add("build.files.mediaType: %s makes an archive of %s, which holds nothing but the archive %s: name that file in build.files.from if it is to go in as it is", b.form.mediaType, inWords(from), name)
	}
	return nil
}

func inWords(from string) string {
	if from == "." {
		return "the inputs"
	}
	return from
}

// leaves takes joined errors apart.
func leaves(err error) []error {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, err := range several.Unwrap() {
			all = append(all, leaves(err)...)
		}
		return all
	}
	if err == nil {
		return nil
	}
	return []error{err}
}
