package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pharos-dev/pharos/internal/lazyregexp"
)

// resolve follows gitrevisions(7) for the forms in the package comment.
func (r *Repository) resolve(ctx context.Context, rev string) (Commit, error) {
	base, steps, err := parseRevision(rev)
	if err != nil {
		return Commit{}, err
	}
	id, err := r.base(ctx, base)
	if err != nil {
		return Commit{}, err
	}
	c, err := r.peel(ctx, id)
	for _, s := range steps {
		for range s.times {
			if err != nil {
				return Commit{}, err
			}
			if len(c.Parents) < s.parent {
				return Commit{}, fmt.Errorf("commit %s has %d parents", c.ID, len(c.Parents))
			}
			c, err = r.commit(ctx, c.Parents[s.parent-1])
		}
	}
	return c, err
}

// step is to a commit's parent, counted from 1.
type step struct{ parent, times int }

var suffix = lazyregexp.New(`^(?:\^\{(?:commit)?\}|([~^])([0-9]*))`)

func parseRevision(rev string) (base string, steps []step, err error) {
	base, rest := rev, ""
	if i := strings.IndexAny(rev, "~^"); i >= 0 {
		base, rest = rev[:i], rev[i:]
	}
	for rest != "" {
		m := suffix.FindStringSubmatch(rest)
		if m == nil {
			return "", nil, fmt.Errorf("%q is no form that is read here: give what git rev-parse makes of it", rest)
		}
		rest = rest[len(m[0]):]
		n := 1
		if m[2] != "" {
			if n, err = strconv.Atoi(m[2]); err != nil {
				return "", nil, err
			}
		}
		switch {
		case m[1] == "~":
			steps = append(steps, step{parent: 1, times: n})
		case m[1] == "^" && n > 0:
			steps = append(steps, step{parent: n, times: 1})
		}
	}
	if base == "@" {
		base = "HEAD"
	}
	if base == "" || strings.Contains(base, "..") || strings.Contains(base, "@{") || strings.ContainsAny(base, " \t\n:?*[\\") {
		return "", nil, fmt.Errorf("%q is no form that is read here: give what git rev-parse makes of it", base)
	}
	return base, steps, nil
}

var (
	abbrev    = lazyregexp.New(`^[0-9a-f]{4,64}$`)
	described = lazyregexp.New(`^.+-[0-9]+-g([0-9a-f]{4,64})$`) // of git describe
)

func (r *Repository) base(ctx context.Context, name string) (ID, error) {
	lower := strings.ToLower(name)
	if r.isFull(lower) {
		return ID(lower), nil
	}
	id, err := r.refs.look(name)
	if !errors.Is(err, errNoReference) {
		return id, err
	}
	if m := described.FindStringSubmatch(lower); m != nil {
		lower = m[1]
	}
	if r.isFull(lower) {
		return ID(lower), nil
	}
	if !abbrev.MatchString(lower) || len(lower) > 2*r.objects.db.Format().Size() {
		return "", errors.New("there is no such branch, tag or commit")
	}
	return r.abbreviated(ctx, lower)
}

func (r *Repository) isFull(id string) bool {
	return isID(ID(id)) && len(id) == 2*r.objects.db.Format().Size()
}

// abbreviated finds the one commit, or the tag of one, whose ID begins so.
func (r *Repository) abbreviated(ctx context.Context, prefix string) (ID, error) {
	format := r.objects.db.Format()
	ids, err := r.objects.db.WithPrefix(prefix)
	if errors.Is(err, ErrTooLarge) {
		return "", fmt.Errorf("it is ambiguous: %v", err)
	}
	if err != nil {
		return "", err
	}
	var found []ID
	for _, bin := range ids {
		id := ID(format.Text(bin))
		_, err := r.peel(ctx, id)
		switch {
		case err == nil:
			found = append(found, id)
		case !errors.Is(err, errNoCommit):
			return "", err
		}
	}
	switch len(found) {
	case 0:
		return "", errors.New("there is no such branch, tag or commit")
	case 1:
		return found[0], nil
	}
	slices.Sort(found)
	return "", fmt.Errorf("it is ambiguous: %s and %s begin so", found[0], found[1])
}
