package filesrecipe

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/joined"
)

// ErrMissing is returned by Find if what the recipe names is not among the inputs.
var ErrMissing = errors.New("build.files.from is not among the inputs")

// RefusedError says why a recipe cannot be followed with the inputs that it has.
type RefusedError struct {
	Reasons []string // at least one, each a sentence
}

// Error is all reasons.
func (e *RefusedError) Error() string { return strings.Join(e.Reasons, "; ") }

func (e *RefusedError) add(format string, args ...any) {
	e.Reasons = append(e.Reasons, fmt.Sprintf(format, args...))
}

// Content is what goes into the layer.
type Content struct {
	From string // in the tree
	// Folder is what becomes an archive.
	Folder source.Tree
	// File goes in as it is, if its ID is not empty, under that title.
	File  source.Entry
	Title string
}

// everything is the pattern that chooses all of a tree.
var everything = []string{"**"}

// finding is one run of Find.
type finding struct {
	form    Form
	inputs  source.Tree
	content Content
	refused RefusedError
}

// Find finds the recipe's folder, or its file, among the inputs. form is the
// recipe's. The error is ErrMissing, a *RefusedError, or that of the tree's objects.
func Find(ctx context.Context, inputs source.Tree, b catalogue.FilesBuild, form Form) (*Content, error) {
	from := path.Clean("./" + b.From)
	entry, err := inputs.Lookup(ctx, from)
	switch {
	case errors.Is(err, source.ErrNotFound):
		return nil, ErrMissing
	case err != nil:
		return nil, err
	}
	f := &finding{form: form, inputs: inputs, content: Content{From: from}}
	switch entry.Mode {
	case source.ModeDir:
		if err = f.folder(ctx, entry.ID); err == nil && len(f.refused.Reasons) == 0 {
			err = f.fit(ctx)
		}
	case source.ModeSymlink:
		f.refused.add("build.files.from: %s is a symbolic link: name the folder that it leads to", from)
	case source.ModeSubmodule:
		f.refused.add("build.files.from: %s is a submodule, whose files are not in this repository", from)
	default:
		if !form.Artifact {
			f.refused.add("build.files.from: %s is a file, and an image is made of a folder: write from: %s, with %q as its pattern among the inputs", from, path.Dir(from), literal.Replace(from))
		}
		f.content.File, f.content.Title = entry, path.Base(from)
	}
	if err != nil {
		return nil, err
	}
	if f.content.File.ID != "" && path.Clean("/"+b.Root) != "/" {
		f.refused.add("build.files.root: %s is for a folder, and %s goes in as it is: leave root out", b.Root, f.content.Title)
	}
	if len(f.refused.Reasons) > 0 {
		return nil, &f.refused
	}
	return &f.content, nil
}

// literal makes the pattern that matches one path.
var literal = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "!", `\!`)

// folder checks the folder by the rules of pruned trees, as a tree of its own: what
// a link leads to must go in with it.
func (f *finding) folder(ctx context.Context, id source.ID) error {
	all, err := catalogue.ParsePatterns(everything)
	if err != nil {
		return err
	}
	from := f.content.From
	f.content.Folder, _, err = catalogue.Prune(ctx, source.Tree{ID: id, Objects: f.inputs.Objects}, all)
	for _, err := range joined.Errors(err) {
		link, isLink := errors.AsType[*catalogue.SymlinkError](err)
		submodule, isSubmodule := errors.AsType[*catalogue.SubmoduleError](err)
		pointer, isPointer := errors.AsType[*catalogue.LFSError](err)
		switch {
		case isLink:
			f.refused.add("symbolic link %s -> %s leads to nothing in %s, and that is all that goes in: exclude the link, or name a folder above both in build.files.from",
				path.Join(from, link.Path), link.Target, inWords(from))
		case isSubmodule:
			f.refused.add("%v", &catalogue.SubmoduleError{Path: path.Join(from, submodule.Path)})
		case isPointer:
			f.refused.add("%v", &catalogue.LFSError{Path: path.Join(from, pointer.Path)})
		case errors.Is(err, catalogue.ErrEmpty):
			f.refused.add("build.files.from: %s holds no file", inWords(from))
		default:
			return err
		}
	}
	return nil
}

// fit says whether the form can be made of the folder, and takes its only file
// where that goes in as it is.
func (f *finding) fit(ctx context.Context) error {
	from := f.content.From
	count, name, last := 0, "", source.Entry{}
	err := f.content.Folder.Walk(ctx, func(at string, e source.Entry) error {
		if e.Mode == source.ModeDir {
			return nil
		}
		if !f.form.Artifact && strings.HasPrefix(e.Name, whiteout) {
			f.refused.add("%s: in an image's layer a name that begins with %s is a deletion: exclude it, or call it otherwise", path.Join(from, at), whiteout)
		}
		count, name, last = count+1, at, e
		return nil
	})
	switch {
	case err != nil:
		return err
	case !f.form.Tar && (count > 1 || !last.Mode.IsFile()):
		f.refused.add("build.files.mediaType: %s is the type of one file, and %s holds %d: name the file in build.files.from, or a type that ends with .tar+gzip", f.form.MediaType, inWords(from), count)
	case !f.form.Tar:
		f.content.File, f.content.Title = last, name
	case f.form.Artifact && count == 1 && isArchive(name):
		f.refused.add("build.files.mediaType: %s makes an archive of %s, which holds nothing but the archive %s: name that file in build.files.from if it is to go in as it is", f.form.MediaType, inWords(from), name)
	}
	return nil
}

func inWords(from string) string {
	if from == "." {
		return "the inputs"
	}
	return from
}
