package transport_test

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/exectest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/transport"
	"github.com/pharos-dev/pharos/receipt"
)

// receiptID returns one of sixteen IDs.
func receiptID(digit string) receipt.ID { return receipt.ID("sha256:" + strings.Repeat(digit, 64)) }

func head(t *testing.T, dir string) source.Commit {
	t.Helper()
	repo, err := source.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := repo.Commit(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// publishes publishes HEAD and fails the test if it stands on the server then
// otherwise than in full.
func (s *server) publishes(r *transport.Remote, dir string, id receipt.ID) source.Commit {
	s.t.Helper()
	c := head(s.t, dir)
	if err := r.Publish(s.t.Context(), lifecycle.PublishRequest{Commit: c, Receipt: id}); err != nil {
		s.t.Fatal(err)
	}
	if got := git(s.t, s.dir, "rev-parse", "refs/pharos/receipts/"+id.Hex()); got != string(c.ID) {
		s.t.Errorf("the reference is %s, want %s", got, c.ID)
	}
	git(s.t, s.dir, "fsck", "--strict", "--no-dangling", string(c.ID))
	return c
}

// Only what the server lacks is sent: all at first, nothing the second time or for
// a further receipt of the commit, and then what a commit changed.
func TestPublish(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			s, dir := newServer(t, format), checkout(t, format)
			r := remote(t, transport.Config{URL: s.url, Dir: dir})
			sent := func(when string, objects, packs int) {
				t.Helper()
				if o, p := s.sent(); o != objects || p != packs {
					t.Errorf("%s, %d objects were sent in %d packs, want %d in %d", when, o, p, objects, packs)
				}
			}
			s.publishes(r, dir, receiptID("a"))
			sent("at first", 1+5+7, 1) // the commit, the root and four folders, seven files
			s.publishes(r, dir, receiptID("a"))
			sent("again", 0, 0)
			s.publishes(r, dir, receiptID("b"))
			sent("for another receipt", 0, 1)

			write(t, dir, "api/deep/y.go", "edited\n")
			git(t, dir, "commit", "-qam", "an edit")
			s.publishes(r, dir, receiptID("c"))
			sent("after an edit", 5, 1) // the commit, the root, api, api/deep and y.go
			// A branch is not needed for it to be fetched by its ID alone.
			clone := t.TempDir()
			git(t, clone, "init", "-q", "--object-format="+format)
			git(t, clone, "fetch", "-q", "--depth=1", s.url, string(head(t, dir).ID))
		})
	}
}

// What the history on the server holds is not sent.
func TestPublishBesideABranch(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t, "sha1"), checkout(t, "sha1")
	git(t, dir, "push", "-q", s.dir, "main")
	r := remote(t, transport.Config{URL: s.url, Dir: dir})
	s.publishes(r, dir, receiptID("a"))
	if objects, _ := s.sent(); objects != 0 {
		t.Errorf("%d objects were sent that a branch holds", objects)
	}
	git(t, dir, "checkout", "-q", "--detach")
	write(t, dir, "libs/a.go", "another\n")
	git(t, dir, "commit", "-qam", "on no branch")
	s.publishes(r, dir, receiptID("b"))
	if objects, _ := s.sent(); objects != 4 { // the commit, the root, libs and a.go
		t.Errorf("%d objects were sent of a commit on top", objects)
	}
}

// A worktree that is linked to another checkout has its objects.
func TestPublishFromALinkedWorktree(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t, "sha1"), checkout(t, "sha1")
	linked := filepath.Join(t.TempDir(), "linked")
	git(t, dir, "worktree", "add", "-q", "-b", "other", linked)
	write(t, linked, "new.go", "new\n")
	git(t, linked, "add", "-A")
	git(t, linked, "commit", "-qm", "another")
	s.publishes(remote(t, transport.Config{URL: s.url, Dir: linked}), linked, receiptID("a"))
}

// A reference that somebody has put elsewhere is put right.
func TestPublishInTheWrongPlace(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t, "sha1"), checkout(t, "sha1")
	git(t, dir, "push", "-q", s.dir, "main:"+transport.ReceiptRef(receiptID("a")))
	write(t, dir, "new.go", "new\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "another")
	s.publishes(remote(t, transport.Config{URL: s.url, Dir: dir}), dir, receiptID("a"))
}

// A shallow clone publishes what the server knows the history of, and says what to
// do where it does not.
func TestPublishShallow(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			s, dir := newServer(t, format), checkout(t, format)
			write(t, dir, "libs/a.go", "another\n")
			git(t, dir, "commit", "-qam", "a second commit")
			git(t, dir, "push", "-q", s.dir, "main")
			clone := filepath.Join(t.TempDir(), "clone")
			git(t, ".", "clone", "-q", "--depth=1", "-b", "main", "file://"+s.dir, clone)
			write(t, clone, "libs/b.go", "edited\n")
			git(t, clone, "commit", "-qam", "on top")
			s.publishes(remote(t, transport.Config{URL: s.url, Dir: clone}), clone, receiptID("a"))
			if objects, _ := s.sent(); objects != 4 { // the commit, the root, libs and b.go
				t.Errorf("%d objects were sent", objects)
			}

			empty := newServer(t, format)
			r := remote(t, transport.Config{URL: empty.url, Dir: clone})
			err := r.Publish(t.Context(), lifecycle.PublishRequest{Commit: head(t, clone), Receipt: receiptID("a")})
			var failed *lifecycle.Error
			if !errors.Is(err, transport.ErrIncomplete) || !errors.Is(err, lifecycle.ErrSource) || !errors.As(err, &failed) || !strings.Contains(failed.Advice, "git fetch --unshallow") {
				t.Errorf("to a server without the history: %v", err)
			}
		})
	}
}

// An object that is gone is told from a server that does not take what it gets.
func TestPublishIncomplete(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t, "sha1"), checkout(t, "sha1")
	c := head(t, dir)
	full := newServer(t, "sha1")
	git(t, full.dir, "config", "receive.maxInputSize", "10")
	err := remote(t, transport.Config{URL: full.url, Dir: dir}).Publish(t.Context(), lifecycle.PublishRequest{Commit: c, Receipt: receiptID("a")})
	if !errors.Is(err, lifecycle.ErrUnreachable) || errors.Is(err, transport.ErrIncomplete) {
		t.Errorf("to a server that has no room: %v", err)
	}

	e, err := c.Tree.Lookup(t.Context(), "libs/b.go")
	if err != nil {
		t.Fatal(err)
	}
	removeObject(t, dir, e.ID)
	err = remote(t, transport.Config{URL: s.url, Dir: dir}).Publish(t.Context(), lifecycle.PublishRequest{Commit: c, Receipt: receiptID("a")})
	if !errors.Is(err, transport.ErrIncomplete) || !errors.Is(err, lifecycle.ErrSource) {
		t.Errorf("without a file: %v", err)
	}
	c.ID = source.ID(strings.Repeat("1", 40))
	err = remote(t, transport.Config{URL: s.url, Dir: dir}).Publish(t.Context(), lifecycle.PublishRequest{Commit: c, Receipt: receiptID("a")})
	if !errors.Is(err, source.ErrNotFound) || !errors.Is(err, lifecycle.ErrSource) || !strings.Contains(err.Error(), "git fetch") {
		t.Errorf("of a commit that is not there: %v", err)
	}
	if refs := git(t, s.dir, "for-each-ref"); refs != "" {
		t.Errorf("the server has %s", refs)
	}
}

func TestPublishRefuses(t *testing.T) {
	t.Parallel()
	dir := checkout(t, "sha1")
	c := head(t, dir)
	bad := c
	bad.ID = "--upload-pack=x"
	for name, tc := range map[string]struct {
		config  transport.Config
		request lifecycle.PublishRequest
	}{
		"no receipt":  {transport.Config{Dir: dir}, lifecycle.PublishRequest{Commit: c}},
		"a path":      {transport.Config{Dir: dir}, lifecycle.PublishRequest{Commit: c, Receipt: "sha256:../../heads/main"}},
		"no commit":   {transport.Config{Dir: dir}, lifecycle.PublishRequest{Receipt: receiptID("a")}},
		"an option":   {transport.Config{Dir: dir}, lifecycle.PublishRequest{Commit: bad, Receipt: receiptID("a")}},
		"no checkout": {transport.Config{Folder: t.TempDir()}, lifecycle.PublishRequest{Commit: c, Receipt: receiptID("a")}},
	} {
		tc.config.URL = "http://127.0.0.1:1/repo.git" // nothing is asked
		err := remote(t, tc.config).Publish(t.Context(), tc.request)
		var failed *lifecycle.Error
		if !errors.As(err, &failed) || errors.Is(err, lifecycle.ErrUnreachable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Several publish at once: the same receipt, and others.
func TestPublishTogether(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t, "sha1"), checkout(t, "sha1")
	c := head(t, dir)
	errs := make([]error, 9)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			r, err := transport.New(transport.Config{URL: s.url, Dir: dir, Env: testEnv()})
			if err == nil {
				err = r.Publish(t.Context(), lifecycle.PublishRequest{Commit: c, Receipt: receiptID([]string{"a", "b", "c"}[i%3])})
			}
			errs[i] = err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if refs := strings.Count(git(t, s.dir, "for-each-ref", "refs/pharos/receipts"), "\n"); refs != 2 {
		t.Errorf("%d line ends in the list of references, want 2", refs)
	}
}

// A server that dies half way, or refuses, is said without the password; and what
// passes is not seen.
func TestPublishFaults(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rule   faultproxy.Rule
		passes bool
	}{
		"forbidden":       {faultproxy.Rule{Path: receivePack, Do: faultproxy.Answer(http.StatusForbidden)}, false},
		"dies half way":   {faultproxy.Rule{Method: http.MethodPost, Path: receivePack, Do: faultproxy.Cut()}, false},
		"was away":        {faultproxy.Rule{Times: 1, Do: faultproxy.Answer(http.StatusServiceUnavailable)}, true},
		"its answer lost": {faultproxy.Rule{Method: http.MethodPost, Path: receivePack, Times: 1, AfterUpstream: true, Do: faultproxy.Cut()}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := newServer(t, "sha1"), checkout(t, "sha1")
			proxy, url := behind(t, s)
			proxy.Add(tc.rule)
			r := remote(t, transport.Config{URL: strings.Replace(url, "http://", "http://me:hunter2@", 1), Dir: dir})
			if tc.passes {
				s.publishes(r, dir, receiptID("a"))
				return
			}
			err := r.Publish(t.Context(), lifecycle.PublishRequest{Commit: head(t, dir), Receipt: receiptID("a")})
			if !errors.Is(err, lifecycle.ErrUnreachable) || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), proxy.URL()) {
				t.Errorf("error %v", err)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".git", "pharos", "transport", "tmp-*")); len(left) > 0 {
				t.Errorf("%v are left", left)
			}
		})
	}
}

func TestPublishRejectedByAHook(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t, "sha1"), checkout(t, "sha1")
	exectest.Write(t, filepath.Join(s.dir, "hooks", "update"), []byte("#!/bin/sh\necho not here >&2\nexit 1\n"))
	err := remote(t, transport.Config{URL: s.url, Dir: dir}).Publish(t.Context(), lifecycle.PublishRequest{Commit: head(t, dir), Receipt: receiptID("a")})
	if !errors.Is(err, lifecycle.ErrUnreachable) || !strings.Contains(err.Error(), "not here") || !strings.Contains(err.Error(), "allow refs/pharos/*") {
		t.Error(err)
	}
}
