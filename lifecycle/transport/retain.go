package transport

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
)

const (
	// unusedPrefix begins the names of the marks of inputs that nobody needed.
	unusedPrefix = "refs/pharos/unused/"
	// markLayout is the time in the name of a mark, in UTC.
	markLayout = "20060102T150405Z"
	// grace is how long after they were marked inputs are removed. A Job that
	// fetches them was made before that, and ends at its deadline, which is hours.
	grace = 24 * time.Hour
)

// Retain removes the references of receipts that are dropped, and in the end those
// of inputs that nobody needs: see the package comment.
//
// The errors are those of Publish; each reference is either removed or stays.
func (r *Remote) Retain(ctx context.Context, t lifecycle.RetainRequest) error {
	const op = "remove references from"
	// Nothing of the checkout is needed: what is pushed is a mark.
	looking, remove, err := r.scratch(formatSHA1, map[string]string{}, "", "")
	if err != nil {
		return r.fail(ctx, op, err)
	}
	defer remove()
	err = retry(ctx, func() error {
		refs, err := r.git.lookup(ctx, looking, "refs/pharos/*")
		if err != nil {
			return err
		}
		kind := formatSHA1
		for _, id := range refs { // all of them are of the same
			kind = format(id)
		}
		repo, remove, err := r.scratch(kind, map[string]string{}, "", "")
		if err != nil {
			return err
		}
		defer remove()
		return r.retain(ctx, repo, t, refs)
	})
	if err != nil && !absent(err) { // of a repository that is not there, nothing is to be removed
		return r.fail(ctx, op, err)
	}
	return nil
}

func (r *Remote) retain(ctx context.Context, repo *repository, t lifecycle.RetainRequest, refs map[string]source.ID) error {
	var drop []update
	for _, id := range t.Dropped {
		if at, there := refs[ReceiptRef(id)]; there {
			drop = append(drop, update{ref: ReceiptRef(id), old: at})
		}
	}
	for _, some := range chunks(drop) {
		if err := r.git.push(ctx, repo, false, some...); err != nil {
			return err
		}
	}
	if t.Inputs == nil {
		return nil
	}
	s := sortInputs(refs, t.Inputs, r.now())
	if err := r.mark(ctx, repo, s.mark); err != nil {
		return err
	}
	if err := r.unmark(ctx, repo, s.unmark); err != nil {
		return err
	}
	for _, some := range chunks(s.remove) {
		// A mark and what it marks go together: whoever needs the inputs removes
		// the mark first, so that one of the two finds the other's done.
		err := r.git.push(ctx, repo, true, slices.Concat(some...)...)
		if failed, ok := errors.AsType[*gitError](err); ok && strings.Contains(failed.stderr, "does not support --atomic") {
			r.git.log.WarnContext(ctx, "the Git server keeps inputs that nobody needs: it has no atomic pushes", "server", r.git.address.text)
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sorted says what is to become of inputs.
type sorted struct {
	mark   []source.ID          // trees
	unmark map[string]source.ID // marks
	remove [][]update           // references with their marks
}

// sortInputs sorts the inputs and the marks among the references of a server.
func sortInputs(refs map[string]source.ID, needed []source.ID, now time.Time) sorted {
	s := sorted{unmark: map[string]source.ID{}}
	marks := map[source.ID]map[string]source.ID{}
	oldest := map[source.ID]time.Time{}
	for ref, at := range refs {
		tree, since, ok := parseMark(ref)
		if !ok {
			continue
		}
		if since.Sub(now) > grace { // by a clock that was wrong: it would stand for ever
			s.unmark[ref] = at
			continue
		}
		if marks[tree] == nil {
			marks[tree] = map[string]source.ID{}
		}
		marks[tree][ref] = at
		if known, ok := oldest[tree]; !ok || since.Before(known) {
			oldest[tree] = since
		}
	}
	for ref, at := range refs {
		tree, ok := strings.CutPrefix(ref, inputsPrefix)
		if !ok || !isID(tree) {
			continue
		}
		id := source.ID(tree)
		since, marked := oldest[id]
		switch {
		case slices.Contains(needed, id):
			for mark, at := range marks[id] {
				s.unmark[mark] = at
			}
		case !marked:
			s.mark = append(s.mark, id)
		case now.Sub(since) > grace:
			group := []update{{ref: ref, old: at}}
			for mark, at := range marks[id] {
				group = append(group, update{ref: mark, old: at})
			}
			s.remove = append(s.remove, group)
		}
		delete(marks, id)
	}
	for _, alone := range marks { // somebody removed what they marked
		for mark, at := range alone {
			s.unmark[mark] = at
		}
	}
	return s
}

// markRef is the name of a mark: refs/pharos/unused/<tree>/<time>.
func markRef(tree source.ID, since time.Time) string {
	return unusedPrefix + string(tree) + "/" + since.UTC().Format(markLayout)
}

func parseMark(ref string) (tree source.ID, since time.Time, ok bool) {
	rest, ok := strings.CutPrefix(ref, unusedPrefix)
	if !ok {
		return "", time.Time{}, false
	}
	name, stamp, _ := strings.Cut(rest, "/")
	since, err := time.Parse(markLayout, stamp)
	return source.ID(name), since, err == nil && isID(name)
}

// mark marks inputs as needed by nobody as of now. What a mark names is the same
// for all of them.
func (r *Remote) mark(ctx context.Context, repo *repository, trees []source.ID) error {
	if len(trees) == 0 {
		return nil
	}
	empty := repo.format.emptyTree()
	content := commitOf(empty, "Marks inputs that nobody needs")
	commit := hashObject(repo.format, "commit", content)
	if err := repo.write("tree", empty, nil); err != nil {
		return err
	}
	if err := repo.write("commit", commit, content); err != nil {
		return err
	}
	now := r.now()
	for _, some := range chunks(trees) {
		var updates []update
		for _, tree := range some {
			updates = append(updates, update{ref: markRef(tree, now), new: commit})
		}
		if err := r.git.push(ctx, repo, false, updates...); err != nil {
			return err
		}
	}
	return nil
}

// unmark removes marks, by their names.
func (r *Remote) unmark(ctx context.Context, repo *repository, marks map[string]source.ID) error {
	var updates []update
	for ref, at := range marks {
		updates = append(updates, update{ref: ref, old: at})
	}
	for _, some := range chunks(updates) {
		if err := r.git.push(ctx, repo, false, some...); err != nil {
			return err
		}
	}
	return nil
}
