package dockerfile

import (
	"context"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// Reads is what a build takes from its context.
type Reads struct {
	// Files are the paths that are read, slash-separated and sorted bytewise:
	// the Dockerfile, the file of its ignore rules, and what COPY, ADD and RUN
	// --mount=type=bind take.
	Files []string
	// Missing are the sources that match nothing in the context.
	Missing []Source
	// Unknown are the sources of which a tree alone cannot tell what they take.
	Unknown []Source
	// Remote are the sources that ADD fetches, and that no checksum pins.
	Remote []Source
}

// Source is what an instruction takes.
type Source struct {
	Line   int    // of the instruction, counted from 1
	Path   string // as written, with arguments expanded
	Reason string // why it is listed
}

// Reads says what the target takes from a tree whose root is the build context.
func (p *Plan) Reads(ctx context.Context, tree source.Tree) (*Reads, error) {
	return &Reads{Files: []string{p.file.Path}}, nil
}
