package lifecycle

import (
	"context"
	"errors"
	"fmt"

	"github.com/pharos-dev/pharos/catalogue/source"
)

// mayDeliver refuses a target of which it is not known that it is this
// repository's to write to: its records cannot be read, or name another
// repository. The request's Adopt is a person's word that it is.
func (o *operation) mayDeliver(ctx context.Context, r ReconcileRequest, s *situation) error {
	if u := s.unknown(); u != nil && !r.Adopt {
		return &BlockedError{
			Reason: fmt.Sprintf("it is not known what target %q was told last, since %s cannot be read: %v", o.Target, u.What, u.Err),
			Next: "Restore it if there is a copy. If not, --adopt delivers as if nothing were known of the target: " +
				"what earlier deliveries left there is updated, and orphans may not be found.",
			Err: u.Err,
		}
	}
	ours, err := belongs(ctx, r, s)
	if err != nil || ours {
		return err
	}
	if s.adopted = r.Adopt; s.adopted {
		return nil
	}
	return &BlockedError{
		Reason: fmt.Sprintf("target %q belongs to another repository: its first commit is %s, and neither that nor the applied commit is in this one",
			o.Target, s.pointers.Repository),
		Next: "Give this repository a target of its own. If it is the same one in a shallow clone, fetch its history: git fetch --unshallow. " +
			"To take the target over from the other repository: --adopt",
	}
}

// belongs says whether a target is not known to belong to a repository other
// than the request's: that has its first commit, or the one that is applied.
func belongs(ctx context.Context, r ReconcileRequest, s *situation) (bool, error) {
	if s.pointers.Repository == "" {
		return true, nil
	}
	if r.Repository == nil {
		return false, nil
	}
	known := []string{s.pointers.Repository}
	if s.applied != nil {
		known = append(known, s.applied.Commit)
	}
	for _, id := range known {
		_, err := r.Repository.Commit(ctx, id)
		if err == nil {
			return true, nil
		}
		if !missing(err) {
			return false, &Error{Op: "look for commit", On: short(source.ID(id)), Class: ErrSource, Err: err}
		}
	}
	return false, nil
}

func missing(err error) bool {
	return errors.Is(err, source.ErrNotFound) || errors.Is(err, source.ErrUnknownRevision)
}

// repository is what the pointers are to say of the repository. Who owns the
// target already stays, unless the request adopts it.
func (d *delivery) repository(ctx context.Context) (string, error) {
	if ours, err := belongs(ctx, d.request, d.situation); err != nil || ours && d.pointers.Repository != "" {
		return d.pointers.Repository, err
	}
	return firstCommit(ctx, d.request.Repository, d.request.Commit)
}

// firstCommit is where the history of a commit begins, by first parents, so that
// a history that was merged in does not change it. It is empty if that cannot be
// seen: there is no repository, or the clone is shallow.
func firstCommit(ctx context.Context, repo Repository, c source.Commit) (string, error) {
	if repo == nil {
		return "", nil
	}
	for len(c.Parents) > 0 {
		next, err := repo.Commit(ctx, string(c.Parents[0]))
		if missing(err) {
			return "", nil
		}
		if err != nil {
			return "", &Error{Op: "read the history of", On: "commit " + short(c.ID), Class: ErrSource, Err: err}
		}
		c = next
	}
	return string(c.ID), nil
}
