package transport

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

const (
	// receiptsPrefix begins the names of the references of receipts.
	receiptsPrefix = "refs/pharos/receipts/"

	adviceComplete = "Complete the clone: git fetch --unshallow, or git fetch --refetch --filter=blob:none --no-filter of a partial one. In CI, check out with the whole history (fetch-depth: 0)."
)

// ReceiptRef returns the name of the reference by which a receipt keeps its
// commit: refs/pharos/receipts/<digits>, the 64 hexadecimal digits of its ID. A
// receipt's ID stands for target and cluster too, so that receipts of several
// targets share a server.
func ReceiptRef(id receipt.ID) string { return receiptsPrefix + id.Hex() }

// Publish has the server hold the commit, under the receipt's reference, and sends
// what it lacks. The commit and all that it names have to be in the checkout.
//
// The error is a *lifecycle.Error: of class lifecycle.ErrSource if the checkout
// does not have the commit, or lacks some of its history that the server does not
// have either, as shallow and partial clones do; of class
// lifecycle.ErrUnreachable if the server cannot be reached, or does not take it;
// of no class for a fault of this machine. It is ctx's if that ends.
func (r *Remote) Publish(ctx context.Context, p lifecycle.PublishRequest) error {
	const op = "publish the commit to"
	if err := checkPublish(p.Commit.ID, p.Receipt); err != nil {
		return &lifecycle.Error{Op: op, On: r.git.address.text, Err: err}
	}
	repo, remove, err := r.borrow(ctx, p.Commit.ID, "")
	if err != nil {
		return r.fail(ctx, op, err)
	}
	defer remove()
	ref := ReceiptRef(p.Receipt)
	err = retry(ctx, func() error {
		refs, err := r.git.lookup(ctx, repo, ref)
		if err != nil && !absent(err) || refs[ref] == p.Commit.ID {
			return err
		}
		return r.git.push(ctx, repo, false, update{ref: ref, old: refs[ref], new: p.Commit.ID})
	})
	if err != nil {
		return r.fail(ctx, op, r.explain(ctx, repo, p.Commit.ID, err))
	}
	return nil
}

func checkPublish(commit source.ID, id receipt.ID) error {
	if _, err := receipt.ParseID(string(id)); err != nil {
		return err
	}
	if !isID(string(commit)) {
		return fmt.Errorf("%q is no ID of a commit", commit)
	}
	return nil
}

// isID holds for the ID of an object in full.
func isID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// borrow makes a repository for one call that has the objects of the checkout, and
// ends where it ends if that is a shallow clone. The commit stands under ref, if
// that is not empty. remove removes it.
func (r *Remote) borrow(ctx context.Context, commit source.ID, ref string) (repo *repository, remove func(), err error) {
	if r.common == "" {
		return nil, nil, &lifecycle.Error{Op: "read commit", On: string(commit), Class: lifecycle.ErrSource,
			Err: errors.New("there is no checkout to read it from")}
	}
	repo, remove, err = r.scratch(format(commit), map[string]string{"objects/info/alternates": filepath.ToSlash(r.objects()) + "\n"}, ref, commit)
	if err != nil {
		return nil, nil, err
	}
	has, err := r.git.has(ctx, repo, []object{{id: commit}})
	if err == nil && !has[0] {
		err = &lifecycle.Error{Op: "read commit", On: string(commit), Class: lifecycle.ErrSource, Err: source.ErrNotFound,
			Advice: "Fetch it into the checkout: git fetch"}
	}
	if err != nil {
		remove()
		return nil, nil, err
	}
	return repo, remove, nil
}

// scratch makes a repository of further files in a folder that remove removes; a
// later call does it for one that is killed.
func (r *Remote) scratch(f objectFormat, files map[string]string, ref string, commit source.ID) (repo *repository, remove func(), err error) {
	if r.common != "" {
		shallow, err := os.ReadFile(filepath.Join(r.common, "shallow"))
		if ignoreMissing(err) != nil {
			return nil, nil, err
		}
		if len(shallow) > 0 {
			files["shallow"] = string(shallow)
		}
	}
	if err := os.MkdirAll(r.folder, 0o700); err != nil {
		return nil, nil, err
	}
	r.sweep()
	dir, err := os.MkdirTemp(r.folder, temporaryPrefix)
	if err != nil {
		return nil, nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) } // or a later call does
	if err = f.lay(dir, files); err == nil && ref != "" {
		path := filepath.Join(dir, filepath.FromSlash(ref))
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = os.WriteFile(path, []byte(commit+"\n"), 0o600)
		}
	}
	if err != nil {
		remove()
		return nil, nil, err
	}
	return &repository{dir: dir, format: f}, remove, nil
}

// explain finds out whether a commit could not be sent because the checkout lacks
// some of what it names, and says so.
func (r *Remote) explain(ctx context.Context, repo *repository, commit source.ID, err error) error {
	failed, ok := errors.AsType[*gitError](err)
	if !ok {
		return err
	}
	incomplete := strings.Contains(failed.rejected+failed.stderr, "shallow update not allowed")
	if failed.lacksObjects() {
		out, lookErr := r.git.run(ctx, repo, nil, nil, "rev-list", "--quiet", "--objects", "--missing=print", string(commit))
		incomplete = incomplete || lookErr != nil || len(out) > 0
	}
	if !incomplete || ctx.Err() != nil {
		return err
	}
	return &lifecycle.Error{Op: "read commit", On: string(commit), Class: lifecycle.ErrSource, Advice: adviceComplete,
		Err: fmt.Errorf("%w: %w", ErrIncomplete, err)}
}

// ErrIncomplete is matched by the error of a commit whose history is not complete
// in the checkout, and is needed.
var ErrIncomplete = errors.New("the checkout lacks some of what the commit names")

// isShallow holds for a repository whose history ends somewhere.
func (p *repository) isShallow() bool { return exists(filepath.Join(p.dir, "shallow")) }

func chunks[T any](list []T) [][]T { return slices.Collect(slices.Chunk(list, 200)) }
