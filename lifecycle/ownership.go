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
		restore := "Restore it if there is a copy. If not,"
		if _, foreign := errors.AsType[*foreignError](u.Err); foreign {
			restore = "Check the context, or give this cluster a target of its own. If its records came with it from another cluster,"
		}
		return &BlockedError{
			Reason: fmt.Sprintf("it is not known what target %q was told last, since %s cannot be read: %v", o.Target, u.What, u.Err),
			Next: restore + " --adopt delivers as if nothing were known of the target: " +
				"what earlier deliveries left there is updated, and orphans may not be found.",
			Err: u.Err,
		}
	}
	if s.unprepared != nil && !r.preparing {
		return &BlockedError{Reason: fmt.Sprintf("target %q is not ready for a delivery: %v", o.Target, s.unprepared),
			Next: "Prepare it, and deliver to it: kubectl pharos deploy", Err: s.unprepared}
	}
	ours, err := belongs(ctx, r, s)
	if err != nil {
		return err
	}
	if s.adopted = !ours && r.Adopt; ours || s.adopted {
		return o.mayBind(ctx, r, s)
	}
	return &BlockedError{
		Reason: fmt.Sprintf("target %q belongs to another repository: its first commit is %s, and neither that nor the applied commit is in this one",
			o.Target, s.pointers.Repository),
		Next: "Give this repository a target of its own. If it is the same one in a shallow clone, fetch its history: git fetch --unshallow. " +
			"To take the target over from the other repository: --adopt",
	}
}

// mayBind refuses to take a target over, or to do without whose it was, from
// where the history does not say whose it is to be: then it would be anybody's.
func (o *operation) mayBind(ctx context.Context, r ReconcileRequest, s *situation) error {
	lost := s.damage.pointers != nil && s.pointers.Repository == "" && r.Repository != nil
	if !s.adopted && !lost {
		return nil
	}
	first, _, err := firstCommit(ctx, r.Repository, r.Commit, "")
	if err != nil || first != "" {
		return err
	}
	return &BlockedError{
		Reason: fmt.Sprintf("target %q cannot be taken over from here: it would belong to the repository by the first commit of its history, and that is not in this clone", o.Target),
		Next:   "Fetch the history, and then --adopt: git fetch --unshallow",
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
		if has, err := hasCommit(ctx, r.Repository, id); has || err != nil {
			return has, err
		}
	}
	return false, nil
}

func hasCommit(ctx context.Context, repo Repository, id string) (bool, error) {
	_, err := repo.Commit(ctx, id)
	if err != nil && !missing(err) {
		return false, &Error{Op: "look for commit", On: short(source.ID(id)), Class: ErrSource, Err: err}
	}
	return err == nil, nil
}

func missing(err error) bool {
	return errors.Is(err, source.ErrNotFound) || errors.Is(err, source.ErrUnknownRevision)
}

// repository is what the pointers are to say of the repository. Who owns the
// target already stays, unless the request adopts it or its history was
// rewritten: where the applied commit is part of the delivered one's, and the
// first commit from before is gone, the first one of now takes its place.
func (d *delivery) repository(ctx context.Context) (string, error) {
	bound, repo := d.pointers.Repository, d.request.Repository
	ours, err := belongs(ctx, d.request, d.situation)
	if err != nil {
		return "", err
	}
	if bound == "" || !ours {
		first, _, err := firstCommit(ctx, repo, d.request.Commit, "")
		if first == "" && ours {
			first = d.situation.pointers.Repository // as the checkpoint has it
		}
		return first, err
	}
	if has, err := hasCommit(ctx, repo, bound); has || err != nil || d.situation.applied == nil {
		return bound, err
	}
	first, ahead, err := firstCommit(ctx, repo, d.request.Commit, d.situation.applied.Commit)
	if err != nil || !ahead || first == "" {
		return bound, err
	}
	return first, nil
}

// firstCommit is where the history of a commit begins, by first parents, so that
// a history that was merged in does not change it. It is empty if that cannot be
// seen: there is no repository, or the clone is shallow. Passed says whether the
// commit via is on the way, which includes both ends.
func firstCommit(ctx context.Context, repo Repository, c source.Commit, via string) (first string, passed bool, err error) {
	if repo == nil {
		return "", false, nil
	}
	passed = string(c.ID) == via
	for len(c.Parents) > 0 {
		next, err := repo.Commit(ctx, string(c.Parents[0]))
		if missing(err) {
			return "", passed, nil
		}
		if err != nil {
			return "", passed, &Error{Op: "read the history of", On: "commit " + short(c.ID), Class: ErrSource, Err: err}
		}
		c = next
		passed = passed || string(c.ID) == via
	}
	return string(c.ID), passed, nil
}
