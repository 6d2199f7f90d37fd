package catalogue

import (
	"encoding/binary"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// recallCatalogue returns what the cache beside a tree's objects has of a
// pharos.yaml, the blob of that ID; nil if there is no cache or it has not all of
// it.
func recallCatalogue(tree source.Tree, file source.ID) *Catalogue {
	known, ok := tree.Objects.(cached)
	if !ok {
		return nil
	}
	answer, ok := slots{known.cache}.get(slot(question(nil, askFile)), file)
	if !ok {
		return nil
	}
	c := &Catalogue{Digest: answer.text(), Delivery: answer.patterns(), Neutral: answer.patterns()}
	n := answer.count()
	c.Images = make([]Image, n)
	for i := range c.Images {
		c.Images[i] = answer.image()
	}
	if !answer.done() {
		return nil
	}
	return c
}

// keepCatalogue puts it into the cache.
func keepCatalogue(tree source.Tree, file source.ID, c *Catalogue) {
	known, ok := tree.Objects.(cached)
	if !ok {
		return
	}
	buf := appendText(nil, c.Digest)
	buf = appendTexts(buf, c.Delivery.Strings())
	buf = appendTexts(buf, c.Neutral.Strings())
	buf = binary.AppendUvarint(buf, uint64(len(c.Images)))
	for i := range c.Images {
		buf = appendImage(buf, &c.Images[i])
	}
	slots{known.cache}.put(slot(question(nil, askFile)), file, buf)
}

func appendImage(buf []byte, i *Image) []byte {
	buf = appendText(buf, i.Name)
	buf = appendBuild(buf, i.Build)
	buf = appendTexts(buf, i.Inputs.Strings())
	buf = appendTexts(buf, i.Platforms)
	return appendRun(buf, i.Run)
}

// appendBuild appends all of a recipe.
func appendBuild(buf []byte, b Build) []byte {
	buf = appendText(buf, b.Kind())
	switch {
	case b.Go != nil:
		buf = appendText(buf, b.Go.Package)
		buf = appendTexts(buf, b.Go.LDFlags)
		buf = appendTexts(buf, b.Go.Tags)
		buf = appendPairs(buf, b.Go.Env)
		buf = appendText(buf, b.Go.Toolchain)
		buf = appendText(buf, b.Go.Base)
		buf = appendTexts(buf, b.Go.Assets)
	case b.Dockerfile != nil:
		buf = appendText(buf, b.Dockerfile.Path)
		buf = appendText(buf, b.Dockerfile.Target)
		buf = appendPairs(buf, b.Dockerfile.Args)
		buf = appendTexts(buf, b.Dockerfile.Secrets)
		buf = appendTexts(buf, b.Dockerfile.SSH)
	case b.Files != nil:
		buf = appendText(buf, b.Files.From)
		buf = appendText(buf, b.Files.Root)
		buf = appendText(buf, b.Files.MediaType)
	}
	return buf
}

func (r *answerReader) image() Image {
	return Image{Name: r.text(), Build: r.build(), Inputs: r.patterns(), Platforms: r.texts(), Run: r.run()}
}

func (r *answerReader) build() Build {
	switch r.text() {
	case BuildGo:
		return Build{Go: &GoBuild{
			Package: r.text(), LDFlags: r.texts(), Tags: r.texts(), Env: r.pairs(), Toolchain: r.text(), Base: r.text(), Assets: r.texts(),
		}}
	case BuildDockerfile:
		return Build{Dockerfile: &DockerfileBuild{Path: r.text(), Target: r.text(), Args: r.pairs(), Secrets: r.texts(), SSH: r.texts()}}
	case BuildFiles:
		return Build{Files: &FilesBuild{From: r.text(), Root: r.text(), MediaType: r.text()}}
	}
	r.bad = true
	return Build{}
}

func (r *answerReader) patterns() Patterns {
	p, err := ParsePatterns(r.texts())
	if err != nil {
		r.bad = true
	}
	return p
}
