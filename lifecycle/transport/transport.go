package transport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os/exec"
	"path/filepath"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle"
)

// Config says which Git server to push to, and from where.
type Config struct {
	// URL is the address of the server's repository, http:// or https://, as
	// this machine sees it. A user name and a password in it are used and not
	// shown. Required.
	URL string
	// Dir is the root of the checkout that the trees are of, or a folder in it:
	// objects that it holds are not copied. Trees of elsewhere can be pushed
	// too. The default is no checkout; Folder is required then.
	Dir string
	// Folder is where to keep the private repository, see the package comment.
	// The default is pharos/transport in the Git folder of Dir.
	Folder string
	// Git is the git program: a path, or a name to look for in PATH. The
	// default is "git".
	Git string
	// Env is the environment of the git program. Variables that point it at one
	// repository, as it sets them for its hooks, are taken out. The default is
	// that of this process.
	Env []string
	// Log is told what git remarks on. The default discards.
	Log *slog.Logger
}

// Remote is the repository of a Git server. It is safe for concurrent use, also
// by several processes on the same checkout.
type Remote struct {
	git     git
	folder  string
	objects string // the checkout's, "" if there is none
}

// New returns the remote repository of that address. It makes no call.
//
// Errors: source.ErrNoRepository and source.ErrUnsupported for Dir;
// source.ErrNoGit; any other is about the Config.
func New(c Config) (*Remote, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	address, err := parseAddress(c.URL)
	if err != nil {
		return nil, fmt.Errorf("transport: Config.URL %w", err)
	}
	r := &Remote{folder: c.Folder}
	config := "" // the checkout's
	if c.Dir != "" {
		repo, err := source.Open(c.Dir)
		if err != nil {
			return nil, err
		}
		common, err := repo.CommonDir()
		if err != nil {
			return nil, err
		}
		r.objects, config = filepath.Join(common, "objects"), filepath.Join(common, "config")
		if r.folder == "" {
			r.folder = filepath.Join(common, "pharos", "transport")
		}
	}
	if r.folder == "" {
		return nil, errors.New("transport: one of Config.Dir and Config.Folder is required")
	}
	if r.folder, err = filepath.Abs(r.folder); err != nil {
		return nil, err
	}
	name := c.Git
	if name == "" {
		name = "git"
	}
	program, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("%w to push with: %w", source.ErrNoGit, err)
	}
	if program, err = filepath.Abs(program); err != nil { // it is run in another folder
		return nil, err
	}
	r.git = git{program: program, env: environment(c.Env, address), address: address, config: config, log: c.Log}
	return r, nil
}

// address is where a server is. Its text has no user name and no password.
type address struct {
	text string
	user *url.Userinfo
}

func parseAddress(text string) (address, error) {
	if text == "" {
		return address{}, errors.New("is required")
	}
	u, err := url.Parse(text)
	switch {
	case err != nil: // it would quote the address
		return address{}, errors.New("is no well-formed URL")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return address{}, errors.New("is not http:// or https:// and a host: objects are pushed by smart HTTP")
	case u.RawQuery != "" || u.Fragment != "":
		return address{}, errors.New("has a query or a fragment, which Git does not use")
	}
	user := u.User
	u.User = nil
	return address{text: u.String(), user: user}, nil
}

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
	in := Inputs{Tree: tree.ID, Commit: InputsCommit(tree.ID), Ref: InputsRef(tree.ID)}
	repo, err := r.open(format(tree.ID))
	if err != nil {
		return Inputs{}, r.local(err)
	}
	err = retry(ctx, func() error {
		there, err := r.git.lookup(ctx, repo, in.Ref)
		if err != nil && !absent(err) || there == in.Commit {
			return err
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
		return Inputs{}, r.fail(ctx, err)
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
	err := r.git.push(ctx, repo, in.Commit, in.Ref, there)
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
	return r.git.push(ctx, repo, in.Commit, in.Ref, there)
}

// fail words an error for the caller.
func (r *Remote) fail(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var failed *gitError
	var read *readError
	switch {
	case errors.As(err, &failed):
		advice, class := failed.judge()
		return &lifecycle.Error{Op: "push inputs to", On: r.git.address.text, Class: class, Err: err, Advice: advice}
	case errors.As(err, &read):
		return &lifecycle.Error{Op: "read inputs", Class: lifecycle.ErrSource, Err: read.err}
	}
	return r.local(err)
}

// local words an error of this machine.
func (r *Remote) local(err error) error {
	return &lifecycle.Error{Op: "prepare inputs in", On: r.folder, Err: err}
}
