package source

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// go-git resolves revisions too, yet takes an abbreviated ID before a branch of
// that name, any of several objects that an ID abbreviates, and the second
// parent for every later one.

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

var suffix = regexp.MustCompile(`^(?:\^\{(?:commit)?\}|([~^])([0-9]*))`)

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
	fullID    = regexp.MustCompile(`^[0-9a-f]{40}$`)
	abbrev    = regexp.MustCompile(`^[0-9a-f]{4,39}$`)
	described = regexp.MustCompile(`^.+-[0-9]+-g([0-9a-f]{4,40})$`) // of git describe
)

func (r *Repository) base(ctx context.Context, name string) (ID, error) {
	lower := strings.ToLower(name)
	if fullID.MatchString(lower) {
		return ID(lower), nil
	}
	id, err := r.reference(name)
	if !errors.Is(err, plumbing.ErrReferenceNotFound) {
		return id, err
	}
	if m := described.FindStringSubmatch(lower); m != nil {
		lower = m[1]
	}
	if fullID.MatchString(lower) {
		return ID(lower), nil
	}
	if !abbrev.MatchString(lower) {
		return "", errors.New("there is no such branch, tag or commit")
	}
	return r.abbreviated(ctx, lower)
}

// reference looks a name up where git does, in its order.
func (r *Repository) reference(name string) (ID, error) {
	r.objects.mu.Lock()
	defer r.objects.mu.Unlock()
	store := r.objects.stores[0]
	for _, form := range []string{"%s", "refs/%s", "refs/tags/%s", "refs/heads/%s", "refs/remotes/%s", "refs/remotes/%s/HEAD"} {
		full := plumbing.ReferenceName(fmt.Sprintf(form, name))
		if !full.IsSafe() {
			continue
		}
		ref, err := storer.ResolveReference(store, full)
		if errors.Is(err, plumbing.ErrReferenceNotFound) {
			if full == plumbing.HEAD {
				return "", fmt.Errorf("%w: commit something first", ErrUnborn)
			}
			continue
		}
		if err != nil {
			return "", err
		}
		return ID(ref.Hash().String()), nil
	}
	return "", plumbing.ErrReferenceNotFound
}

// abbreviated finds the one commit, or the tag of one, whose ID begins so.
func (r *Repository) abbreviated(ctx context.Context, prefix string) (ID, error) {
	ids, err := r.objects.withPrefix(prefix)
	if err != nil {
		return "", err
	}
	var found []ID
	for _, id := range ids {
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

func (o *gitObjects) withPrefix(prefix string) ([]ID, error) {
	bin, err := hex.DecodeString(prefix[:len(prefix)&^1])
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	var ids []ID
	for _, s := range o.stores {
		s.Reindex()
		hashes, err := s.HashesWithPrefix(bin)
		if err != nil {
			return nil, err
		}
		for _, h := range hashes {
			if id := ID(h.String()); strings.HasPrefix(string(id), prefix) {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}
