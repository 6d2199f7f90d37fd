package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source/internal/odb"
)

// errNoCommit is for an object that is neither a commit nor a tag of one.
var errNoCommit = errors.New("is no commit")

// maxTags is how many tags of tags are followed.
const maxTags = 32

// peel reads a commit, or the one that an annotated tag names.
func (r *Repository) peel(ctx context.Context, id ID) (Commit, error) {
	for range maxTags {
		kind, raw, err := r.header(ctx, id, odb.KindsOf(odb.Commit, odb.Tag))
		if err != nil {
			return Commit{}, fmt.Errorf("object %s: %w", id, err)
		}
		switch kind {
		case odb.Commit:
			return r.parse(id, raw)
		case odb.Tag:
			target, ok := header(&raw, "object")
			if !ok || !isID(ID(target)) {
				return Commit{}, fmt.Errorf("tag %s: %w: it names no object", id, ErrMalformed)
			}
			id = ID(target)
		default:
			return Commit{}, fmt.Errorf("object %s %w: it is a %s", id, errNoCommit, kind)
		}
	}
	return Commit{}, fmt.Errorf("tag %s: %w: tags of tags are nested more than %d deep", id, ErrMalformed, maxTags)
}

func (r *Repository) commit(ctx context.Context, id ID) (Commit, error) {
	kind, raw, err := r.header(ctx, id, odb.KindsOf(odb.Commit))
	if err == nil && kind != odb.Commit {
		err = fmt.Errorf("%w: it is a %s", ErrMalformed, kind)
	}
	if errors.Is(err, ErrNotFound) {
		return Commit{}, fmt.Errorf("commit %s: %w; is the clone shallow?", id, err)
	}
	if err != nil {
		return Commit{}, fmt.Errorf("commit %s: %w", id, err)
	}
	return r.parse(id, raw)
}

// header reads an object of one of these kinds, and of others only the kind.
func (r *Repository) header(ctx context.Context, id ID, kinds odb.Kinds) (kind odb.Kind, raw []byte, err error) {
	kind, err = r.objects.parse(ctx, id, kinds, func(content []byte) error {
		raw = bytes.Clone(content)
		return nil
	})
	return kind, raw, err
}

func (r *Repository) parse(id ID, raw []byte) (Commit, error) {
	c, err := parseCommit(raw)
	if err != nil {
		return Commit{}, fmt.Errorf("commit %s: %w", id, err)
	}
	c.ID, c.Tree.Objects = id, r.objects
	return c, nil
}

// parseCommit reads a commit object: header lines, an empty line, the message.
func parseCommit(raw []byte) (Commit, error) {
	tree, ok := header(&raw, "tree")
	if !ok || !isID(ID(tree)) {
		return Commit{}, fmt.Errorf("%w: it names no tree", ErrMalformed)
	}
	c := Commit{Tree: Tree{ID: ID(tree)}}
	for {
		parent, ok := header(&raw, "parent")
		if !ok {
			break
		}
		if !isID(ID(parent)) {
			return Commit{}, fmt.Errorf("%w: its parent is %q", ErrMalformed, parent)
		}
		c.Parents = append(c.Parents, ID(parent))
	}
	_, message, _ := strings.Cut(string(raw), "\n\n")
	subject, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	c.Subject = strings.ToValidUTF8(strings.TrimSpace(subject), "\uFFFD")
	return c, nil
}

// header takes the next line off raw if it has this key.
func header(raw *[]byte, key string) (value string, ok bool) {
	line, rest, _ := bytes.Cut(*raw, []byte("\n"))
	after, ok := bytes.CutPrefix(line, []byte(key+" "))
	if ok {
		*raw = rest
	}
	return string(after), ok
}
