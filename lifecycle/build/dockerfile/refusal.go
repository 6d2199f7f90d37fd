package dockerfile

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/moby/buildkit/frontend/dockerfile/parser"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/lazyregexp"
	"github.com/pharos-dev/pharos/lifecycle"
)

var (
	// privileged is what BuildKit says of a step that wants more than it grants.
	privileged = lazyregexp.New(`(network\.host|security\.insecure) is not allowed`)
	// notUTF8 is what gRPC says of the name of a file.
	notUTF8 = lazyregexp.New(`string field contains invalid UTF-8`)
)

// privileges are the flags of RUN that ask for what BuildKit calls an entitlement.
var privileges = map[string]string{"network.host": "--network=host", "security.insecure": "--security=insecure"}

// notPrivileged is about a step that wants an entitlement, which no build is
// granted. BuildKit does not say which one it is.
func (b *build) notPrivileged(ctx context.Context, e *SolveError, entitlement string) error {
	flag := privileges[entitlement]
	at := *e
	if at.Line == 0 {
		at.File, at.Line = b.file, b.lineOf(ctx, flag)
	}
	return &lifecycle.BuildError{Image: b.request.State.Image.Name, Err: e,
		Reason: place(&at, "RUN "+flag+" is not allowed: what a build finds on its machine is no declared input: remove the flag")}
}

// lineOf finds the first RUN that has a flag; 0 if there is none.
func (b *build) lineOf(ctx context.Context, flag string) int {
	content, err := b.request.State.Inputs.ReadFile(ctx, b.file)
	if err != nil {
		return 0
	}
	parsed, err := parser.Parse(bytes.NewReader(content))
	if err != nil {
		return 0
	}
	for _, n := range parsed.AST.Children {
		if strings.EqualFold(n.Value, "run") && slices.Contains(n.Flags, flag) {
			return n.StartLine
		}
	}
	return 0
}

// notUTF8 lists inputs whose paths are not UTF-8; empty if there are none, or if
// they cannot be read.
func (b *build) notUTF8(ctx context.Context) string {
	const most = 5
	var names []string
	more := 0
	if err := b.request.State.Inputs.Walk(ctx, func(path string, _ source.Entry) error {
		switch {
		case utf8.ValidString(path):
		case len(names) == most:
			more++
		default:
			names = append(names, fmt.Sprintf("%q", path))
		}
		return nil
	}); err != nil {
		return ""
	}
	list := strings.Join(names, ", ")
	if more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
