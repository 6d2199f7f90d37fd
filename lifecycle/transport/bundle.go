package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// ErrNothingToBundle is matched by the error of Bundle if whoever has the commits
// of BundleRequest.Have has the commit already.
var ErrNothingToBundle = errors.New("there is nothing that is not there already")

// BundleRequest is one commit to write to a file.
type BundleRequest struct {
	Commit source.Commit
	// Receipt gives the commit its reference in the bundle, see ReceiptRef.
	Receipt receipt.ID
	// Have are commits of the same history that whoever reads the bundle has, and
	// the checkout too. What they reach is left out, and the bundle can only be
	// read where they are. The default makes a bundle that stands for itself.
	Have []source.ID
}

// Bundle writes a commit and all that it names as a Git bundle (see
// gitformat-bundle(5)), for a server that cannot be reached from here: git fetch
// FILE 'refs/pharos/*:refs/pharos/*' in the server's repository takes it. It makes
// no connection.
//
// The error matches ErrNothingToBundle if there is nothing to write, and
// ErrIncomplete and lifecycle.ErrSource if the checkout's history is not complete;
// it is that of w, or of this machine, otherwise. What was written to w before an
// error is no bundle.
func (r *Remote) Bundle(ctx context.Context, w io.Writer, b BundleRequest) error {
	const op = "bundle commit"
	fail := func(err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if known, ok := errors.AsType[*lifecycle.Error](err); ok {
			return known
		}
		return &lifecycle.Error{Op: op, On: string(b.Commit.ID), Err: err}
	}
	if err := checkPublish(b.Commit.ID, b.Receipt); err != nil {
		return fail(err)
	}
	ref := ReceiptRef(b.Receipt)
	repo, remove, err := r.borrow(ctx, b.Commit.ID, ref)
	if err != nil {
		return fail(err)
	}
	defer remove()
	var revisions bytes.Buffer
	fmt.Fprintln(&revisions, ref)
	for _, id := range b.Have {
		fmt.Fprintf(&revisions, "^%s\n", id)
	}
	if err := r.complete(ctx, repo, revisions.Bytes()); err != nil {
		return fail(r.explain(ctx, repo, b.Commit.ID, err))
	}
	out := &sink{w: w}
	err = r.git.stream(ctx, repo, nil, revisions.Bytes(), out, "bundle", "create", "--quiet", "-", "--stdin")
	if out.err != nil {
		return fail(fmt.Errorf("write the bundle: %w", out.err))
	}
	if err != nil {
		return fail(r.explain(ctx, repo, b.Commit.ID, err))
	}
	return nil
}

// complete refuses what git would make an empty bundle of, or one that nobody can
// read, because the history ends in the middle of it.
func (r *Remote) complete(ctx context.Context, repo *repository, revisions []byte) error {
	out, err := r.git.run(ctx, repo, nil, revisions, "rev-list", "--stdin")
	if err != nil {
		return err
	}
	if len(out) == 0 {
		return ErrNothingToBundle
	}
	if !repo.isShallow() {
		return nil
	}
	ends, err := repo.ends()
	if err != nil {
		return err
	}
	for id := range bytes.Lines(out) {
		if ends[source.ID(bytes.TrimSpace(id))] {
			return &lifecycle.Error{Op: "read the history of", On: string(bytes.TrimSpace(id)), Class: lifecycle.ErrSource, Err: ErrIncomplete, Advice: adviceComplete}
		}
	}
	return nil
}

// sink keeps the error of a writer apart from that of the program that writes to
// it.
type sink struct {
	w   io.Writer
	err error
}

func (s *sink) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	if err != nil {
		s.err = err
	}
	return n, err
}
