package transport

import (
	"context"
	"errors"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
)

// PushInputs has the server hold the commit of a pruned tree under its reference,
// and sends what it lacks. The tree's objects are read where the checkout does
// not have them.
//
// The error is a *lifecycle.Error: of class lifecycle.ErrUnreachable if the server
// cannot be reached, or does not let us in; of class lifecycle.ErrSource if an
// object of the tree cannot be read, with the cause, such as source.ErrNotFound or
// source.ErrCorrupt; of no class for a fault of this machine. It is ctx's if that
// ends.
func (r *Remote) PushInputs(ctx context.Context, tree source.Tree) (Inputs, error) {
	const op = "push inputs to"
	in := Inputs{Tree: tree.ID, Commit: InputsCommit(tree.ID), Ref: InputsRef(tree.ID)}
	repo, err := r.open(format(tree.ID))
	if err != nil {
		return Inputs{}, r.local("prepare inputs in", err)
	}
	err = retry(ctx, func() error {
		refs, err := r.git.lookup(ctx, repo, in.Ref, unusedPrefix+string(tree.ID)+"/*")
		if err != nil && !absent(err) {
			return err
		}
		there := refs[in.Ref]
		delete(refs, in.Ref)
		if there == in.Commit {
			return r.unmark(ctx, repo, refs)
		}
		if !in.Sent {
			if err := r.prepare(ctx, repo, tree); err != nil {
				return err
			}
		}
		in.Sent = true
		return r.push(ctx, repo, tree, in, there)
	})
	if err == nil && in.Sent {
		err = repo.measure()
	}
	if err != nil {
		return Inputs{}, r.fail(ctx, op, err)
	}
	return in, nil
}

// prepare has the repository hold the commit and the objects of the tree.
func (r *Remote) prepare(ctx context.Context, repo *repository, tree source.Tree) error {
	if _, err := r.copyMissing(ctx, repo, tree, false); err != nil {
		return err
	}
	commit := commitOf(tree.ID, "The inputs of an image")
	return repo.write("commit", InputsCommit(tree.ID), commit)
}

// push sends the commit in the place of what was there. If git cannot read an
// object, a tree of the checkout lacks some of what it names, which a repository
// may for objects that no reference reaches: those are looked for one by one then.
func (r *Remote) push(ctx context.Context, repo *repository, tree source.Tree, in Inputs, there source.ID) error {
	send := func() error { return r.git.push(ctx, repo, false, update{ref: in.Ref, old: there, new: in.Commit}) }
	err := send()
	var failed *gitError
	if !errors.As(err, &failed) || !failed.lacksObjects() {
		return err
	}
	copied, copyErr := r.copyMissing(ctx, repo, tree, true)
	if copyErr != nil {
		return copyErr
	}
	if copied == 0 {
		return err
	}
	return send()
}

// fail words an error for the caller: op and the server's address.
func (r *Remote) fail(ctx context.Context, op string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var known *lifecycle.Error
	var failed *gitError
	var read *readError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &failed):
		advice, class := failed.judge()
		return &lifecycle.Error{Op: op, On: r.git.address.text, Class: class, Err: err, Advice: advice}
	case errors.As(err, &read):
		return &lifecycle.Error{Op: "read inputs", Class: lifecycle.ErrSource, Err: read.err}
	}
	return r.local("prepare inputs in", err)
}

// local words an error of this machine.
func (r *Remote) local(op string, err error) error {
	return &lifecycle.Error{Op: op, On: r.folder, Err: err}
}
