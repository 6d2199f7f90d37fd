package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/catalogue/source/worktree"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
	"github.com/pharos-dev/pharos/receipt"
)

// The words for a side that is no revision.
const (
	sideWorktree = "worktree"
	sideReceipt  = "receipt" // the live one
)

// side is what --from or --to names.
type side struct {
	catalogue.Side
	repo     *source.Repository
	revision string    // as it was given; empty for a receipt
	commit   source.ID // zero for the working tree
	receipt  receipt.ID
	parent   receipt.ID // of the receipt
	reads    []string   // what the receipt's render read
	note     string     // what cannot be told of it, and what to do
}

// name is what people call it.
func (s *side) name() string {
	switch {
	case s.receipt != "":
		return "receipt " + s.receipt.Short() + " (commit " + shortID(string(s.commit)) + ")"
	case s.revision == sideWorktree:
		return "the working tree"
	case strings.HasPrefix(string(s.commit), s.revision):
		return shortID(string(s.commit))
	}
	return s.revision + " (" + shortID(string(s.commit)) + ")"
}

// side reads of what a flag names, HEAD if it is empty, what there is to know of
// an image. With catalogue.ErrNoCatalogue
// it returns a side without images.
func (s *shared) side(ctx context.Context, name, image string) (*side, error) {
	if id, ok := receiptName(name); ok {
		return s.receiptSide(ctx, id, image)
	}
	repo, err := source.Open(s.repo)
	if err != nil {
		return nil, err
	}
	is := &side{repo: repo, revision: cmp.Or(name, "HEAD")}
	var tree source.Tree
	if name == sideWorktree {
		tree, err = s.workingTree(ctx)
	} else {
		var commit source.Commit
		commit, err = repo.Commit(ctx, name)
		is.commit, tree = commit.ID, commit.Tree
	}
	if errors.Is(err, source.ErrUnknownRevision) && shownReceipt.MatchString(name) {
		rec, none := s.receiptSide(ctx, name, image)
		if none == nil {
			return rec, nil
		}
		return nil, fmt.Errorf("%w\nAs a receipt: %v", err, none)
	}
	if errors.Is(err, source.ErrUnknownRevision) && receiptDigits.MatchString(name) {
		err = fmt.Errorf("%w\nIf it is a receipt: receipt:%s", err, name)
	}
	if err != nil {
		return nil, err
	}
	if is.Side, err = catalogue.SideOf(ctx, s.cached(repo, tree), image); err != nil && ctx.Err() == nil {
		err = &lifecycle.Error{Op: "read " + catalogue.FileName + " at", On: is.name(), Class: lifecycle.ErrSource, Err: withTargets(ctx, tree, err)}
	}
	return is, err
}

// workingTree returns what lies in the working tree, as it would be committed.
func (s *shared) workingTree(ctx context.Context) (source.Tree, error) {
	return s.snapshot(ctx, worktree.Config{Dir: s.repo})
}

func (s *shared) snapshot(ctx context.Context, c worktree.Config) (source.Tree, error) {
	tree, err := worktree.Snapshot(ctx, c)
	if err != nil && ctx.Err() == nil {
		err = &lifecycle.Error{Op: "read the working tree", Class: lifecycle.ErrSource, Err: err}
	}
	return tree, err
}

// shownReceipt is a receipt as it is listed, or without "sha256:"; 40 digits are a
// commit.
var shownReceipt = regexp.MustCompile(`^(?:[0-9a-f]{12,39}|[0-9a-f]{41,64})$`)

// receiptDigits are too few to be shown for a receipt, and enough to find one.
var receiptDigits = regexp.MustCompile(`^[0-9a-f]{1,11}$`)

// receiptName returns what findReceipt takes, if the flag names a receipt for
// sure.
func receiptName(name string) (string, bool) {
	if name == sideReceipt {
		return "live", true
	}
	if id, ok := strings.CutPrefix(name, sideReceipt+":"); ok {
		return id, true
	}
	_, err := receipt.ParseID(name)
	return name, err == nil
}

// receiptSide reads a receipt of the target, for an image.
func (s *shared) receiptSide(ctx context.Context, name, image string) (*side, error) {
	repo, t, so, err := s.open(ctx)
	if errors.Is(err, standard.ErrNoTarget) || errors.Is(err, standard.ErrSeveralTargets) {
		return nil, &lifecycle.Error{Op: "read a receipt", Err: err, Advice: "To compare with a revision, name it with --from."}
	}
	if err != nil {
		return nil, err
	}
	store, err := standard.NewReceipts(t, so)
	if err != nil {
		return nil, err
	}
	id, err := findReceipt(ctx, store, name)
	if errors.Is(err, errNotSo) {
		return nil, notSo("no receipt of %s is %s yet, so there is nothing to compare with: kubectl pharos reconcile delivers, and --from REV compares with a revision", t.Name, name)
	}
	if err != nil {
		return nil, err
	}
	rec, err := store.Get(ctx, id)
	if err != nil {
		return nil, lifecycle.TargetError(err)
	}
	head, err := repo.Commit(ctx, "")
	if err != nil {
		return nil, err
	}
	is := &side{repo: repo, receipt: id, parent: rec.Parent, commit: source.ID(rec.Commit), reads: rec.Reads}
	is.Side, is.note, err = recordedSide(ctx, rec, image, head.Tree.Objects)
	return is, err
}

// recordedSide returns the images as they were recorded, with the files of their
// inputs where these are still at hand, if the image needs them. If they are not
// at hand, note says why.
func recordedSide(ctx context.Context, rec receipt.Record, image string, objects source.Objects) (is catalogue.Side, note string, err error) {
	whole := source.Tree{ID: source.ID(rec.Tree), Objects: objects}
	now, err := catalogue.SideOf(ctx, whole, image)
	switch {
	case ctx.Err() != nil:
		return is, "", context.Cause(ctx)
	case errors.Is(err, source.ErrNotFound):
		note = "commit " + shortID(rec.Commit) + " is not in this repository: git fetch it to see which inputs changed"
	case err != nil:
		note = "the inputs of commit " + shortID(rec.Commit) + " cannot be read: " + err.Error()
	default:
		is.Tree = whole
	}
	for _, img := range rec.Images {
		st := catalogue.State{Image: catalogue.Image{Name: img.Name}, Fingerprint: catalogue.Fingerprint(img.Fingerprint), Bases: img.Bases}
		for _, f := range img.Preimage {
			st.Preimage = append(st.Preimage, catalogue.Field(f))
		}
		for _, known := range now.States {
			if known.Image.Name == img.Name {
				st.Inputs, st.Frontend, st.Dependencies = known.Inputs, known.Frontend, known.Dependencies
			}
		}
		is.States = append(is.States, st)
	}
	return is, note, nil
}
