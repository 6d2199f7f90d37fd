package catalogue

import (
	"fmt"
	"path"
	"slices"
)

// preimage collects the fields of an image.
func (c *candidate) preimage(r *resolver) []Field {
	var fields preimage
	fields.add("tree", string(c.Inputs.ID))
	fields.addList("platform", c.Image.sortedPlatforms())
	switch b := c.Image.Build; {
	case b.Go != nil:
		fields.addGo(b.Go, c.toolchain)
		fields.addGoBase(b.Go.base(), r)
	case b.Dockerfile != nil:
		fields.addDockerfile(b.Dockerfile)
		fields.addDockerfileBases(c.basis, r)
	case b.Files != nil:
		fields.addFiles(b.Files)
	}
	sortFields(fields)
	return fields
}

func (i *Image) sortedPlatforms() []string { return slices.Sorted(slices.Values(i.Platforms)) }

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
	p.addList("go.ldflags", b.LDFlags)
	tags := slices.Clone(b.Tags)
	slices.Sort(tags)
	p.addList("go.tags", slices.Compact(tags))
	p.addList("go.assets", b.Assets)
	for name, value := range b.Env {
		p.add("go.env."+name, value)
	}
}

func (p *preimage) addDockerfile(b *DockerfileBuild) {
	p.add("builder", BuildDockerfile)
	p.add("builder.version", DockerfileBuilderVersion)
	p.add("dockerfile.path", b.file())
	p.add("dockerfile.target", b.Target)
	p.addList("dockerfile.secrets", b.Secrets)
	p.addList("dockerfile.ssh", b.SSH)
	for name, value := range b.Args {
		p.add("dockerfile.args."+name, value)
	}
}

// addDockerfileBases adds what a Dockerfile is built by and on.
func (p *preimage) addDockerfileBases(built basis, r *resolver) {
	if ref := built.frontend; r.own(ref) {
		p.add("dockerfile.frontendImage", r.fingerprint(ref))
	} else if ref != "" {
		p.add("dockerfile.frontend", r.digest(ref))
	}
	for _, of := range built.bases {
		platform := ""
		if of.platform != "" {
			platform = of.platform + "."
		}
		for i, ref := range of.refs {
			place := fmt.Sprintf("%s%04d", platform, i)
			if r.own(ref) {
				p.add("dockerfile.image."+place, r.fingerprint(ref))
			} else {
				p.add("dockerfile.base."+place, r.digest(ref))
			}
		}
	}
}

func (p *preimage) addFiles(b *FilesBuild) {
	p.add("builder", BuildFiles)
	p.add("builder.version", FilesBuilderVersion)
	p.add("files.from", cleanPath(b.From))
	p.add("files.root", path.Clean("/"+b.Root))
	p.add("files.mediaType", b.MediaType)
}

// addGoBase adds what a Go program is put on. It leaves out where that is kept:
// a mirror has the same image.
func (p *preimage) addGoBase(base string, r *resolver) {
	switch {
	case base == Scratch:
		p.add("go.base", Scratch)
	case r.own(base):
		p.add("go.image", r.fingerprint(base))
	default:
		p.add("go.base", r.digest(base))
	}
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
