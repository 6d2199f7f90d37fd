package catalogue

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// preimage collects the fields of a recipe. toolchain is the Go toolchain's
// name where a Go package is built.
func (i *Image) preimage(toolchain string, tree string) []Field {
	var fields preimage
	fields.add("tree", tree)
	platforms := slices.Clone(i.Platforms)
	slices.Sort(platforms)
	fields.addList("platform", platforms)
	switch {
	case i.Build.Go != nil:
		fields.addGo(i.Build.Go, toolchain)
	case i.Build.Files != nil:
		fields.addFiles(i.Build.Files)
	}
	sortFields(fields)
	return fields
}

type preimage []Field

func (p *preimage) add(key, value string) { *p = append(*p, Field{key, value}) }

func (p *preimage) addList(key string, values []string) {
	for i, v := range values {
		p.add(fmt.Sprintf("%s.%04d", key, i), v)
	}
}

func (p *preimage) addGo(b *GoBuild, toolchain string) {
	p.add("builder", BuildGo)
	p.add("builder.version", GoBuilderVersion)
	p.add("go.package", cleanPath(b.Package))
	p.add("go.toolchain", toolchain)
	p.add("go.base", b.baseDigest())
	p.addList("go.ldflags", b.LDFlags)
	tags := slices.Clone(b.Tags)
	slices.Sort(tags)
	p.addList("go.tags", slices.Compact(tags))
	p.addList("go.assets", b.Assets)
	for name, value := range b.Env {
		p.add("go.env."+name, value)
	}
}

func (p *preimage) addFiles(b *FilesBuild) {
	p.add("builder", BuildFiles)
	p.add("builder.version", FilesBuilderVersion)
	p.add("files.from", cleanPath(b.From))
	p.add("files.root", path.Clean("/"+b.Root))
	p.add("files.mediaType", b.MediaType)
}

// baseDigest leaves out where the base is kept: a mirror has the same image.
func (b *GoBuild) baseDigest() string {
	base := b.base()
	return base[strings.LastIndex(base, "@")+1:]
}

func (b *GoBuild) base() string {
	if b.Base == "" {
		return Scratch
	}
	return b.Base
}

// cleanPath gives the different spellings of a path in the tree one form,
// relative to its root, which is ".".
func cleanPath(p string) string {
	if p == "" {
		return "."
	}
	return path.Clean(p)
}
