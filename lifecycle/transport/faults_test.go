package transport_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/exectest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/transport"
)

// behind puts a fault proxy before a server.
func behind(t *testing.T, s *server) (proxy *faultproxy.Proxy, url string) {
	t.Helper()
	proxy, err := faultproxy.Start(strings.TrimSuffix(s.url, "/repo.git"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	return proxy, proxy.URL() + "/repo.git"
}

var receivePack = regexp.MustCompile(`/git-receive-pack$`)

func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rule   faultproxy.Rule
		advice string
	}{
		"no credentials":    {faultproxy.Rule{Do: faultproxy.Answer(http.StatusUnauthorized)}, "credential helper"},
		"forbidden":         {faultproxy.Rule{Do: faultproxy.Answer(http.StatusForbidden)}, "right to push"},
		"no repository":     {faultproxy.Rule{Do: faultproxy.Answer(http.StatusNotFound)}, "no such repository"},
		"broken":            {faultproxy.Rule{Do: faultproxy.Answer(http.StatusInternalServerError)}, "Check that the Git server runs"},
		"cut":               {faultproxy.Rule{Do: faultproxy.Cut()}, "Check that the Git server runs"},
		"push is forbidden": {faultproxy.Rule{Path: receivePack, Do: faultproxy.Answer(http.StatusForbidden)}, "right to push"},
		"push is broken":    {faultproxy.Rule{Path: receivePack, Do: faultproxy.Answer(http.StatusInternalServerError)}, "Check that the Git server runs"},
		"push is cut":       {faultproxy.Rule{Path: receivePack, Do: faultproxy.Cut()}, "Check that the Git server runs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := newServer(t, "sha1"), checkout(t, "sha1")
			proxy, url := behind(t, s)
			proxy.Add(tc.rule)
			url = strings.Replace(url, "http://", "http://me:hunter2@", 1)
			_, err := remote(t, transport.Config{URL: url, Dir: dir}).PushInputs(t.Context(), pruned(t, dir, "api"))
			var failed *lifecycle.Error
			if !errors.Is(err, lifecycle.ErrUnreachable) || !errors.As(err, &failed) || !strings.Contains(failed.Advice, tc.advice) {
				t.Errorf("error %v, with advice %q", err, failed.Advice)
			}
			if strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), proxy.URL()) {
				t.Errorf("error %v does not name the address without the password", err)
			}
		})
	}
}

// A fault that passes is not seen.
func TestPassingFaults(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]faultproxy.Rule{
		"broken":                 {Times: 1, Do: faultproxy.Answer(http.StatusServiceUnavailable)},
		"cut":                    {Times: 1, Do: faultproxy.Cut()},
		"push is cut":            {Path: receivePack, Times: 1, Do: faultproxy.Cut()},
		"the push's answer lost": {Path: receivePack, Times: 1, AfterUpstream: true, Do: faultproxy.Cut()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := newServer(t, "sha1"), checkout(t, "sha1")
			proxy, url := behind(t, s)
			fault := proxy.Add(rule)
			s.holds(push(t, remote(t, transport.Config{URL: url, Dir: dir}), pruned(t, dir, "api")))
			if fault.Hits() != 1 {
				t.Errorf("%d requests met the fault", fault.Hits())
			}
		})
	}
}

// Of two that push the same, the one that comes too late finds it done.
func TestLostRace(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t, "sha1"), checkout(t, "sha1")
	proxy, url := behind(t, s)
	tree := pruned(t, dir, "api")
	fault := proxy.Add(faultproxy.Rule{Method: http.MethodPost, Path: receivePack, Times: 1, Do: faultproxy.Stall()})
	late := make(chan error, 1)
	go func() {
		_, err := remote(t, transport.Config{URL: url, Dir: dir}).PushInputs(t.Context(), tree)
		late <- err
	}()
	<-fault.Reached()
	push(t, remote(t, transport.Config{URL: s.url, Dir: dir}), tree)
	fault.Release()
	if err := <-late; err != nil {
		t.Fatal(err)
	}
}

func TestRejectedByAHook(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t, "sha1"), checkout(t, "sha1")
	exectest.Write(t, filepath.Join(s.dir, "hooks", "update"), []byte("#!/bin/sh\necho not here >&2\nexit 1\n"))
	_, err := remote(t, transport.Config{URL: s.url, Dir: dir}).PushInputs(t.Context(), pruned(t, dir, "api"))
	if !errors.Is(err, lifecycle.ErrUnreachable) || !strings.Contains(err.Error(), "not here") || !strings.Contains(err.Error(), "refs/pharos") {
		t.Error(err)
	}
	if _, packs := s.sent(); packs != 1 {
		t.Errorf("it was tried %d times", packs)
	}
}

func TestServerOfAnotherFormat(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t, "sha256"), checkout(t, "sha1")
	_, err := remote(t, transport.Config{URL: s.url, Dir: dir}).PushInputs(t.Context(), pruned(t, dir, "api"))
	if !errors.Is(err, lifecycle.ErrUnreachable) || !strings.Contains(err.Error(), "--object-format") {
		t.Error(err)
	}
}

// lackingObjects lacks some, or has others in their place.
type lackingObjects struct {
	source.Objects
	lacks source.ID
	err   error
}

func (o lackingObjects) Tree(ctx context.Context, id source.ID) ([]source.Entry, error) {
	if id != o.lacks {
		return o.Objects.Tree(ctx, id)
	}
	if o.err != nil {
		return nil, o.err
	}
	entries, err := o.Objects.Tree(ctx, id)
	return entries[1:], err
}

func TestObjectsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t, "sha1"), checkout(t, "sha1")
	tree := pruned(t, dir, "api", "!api/deep/er/**")
	for _, tc := range []struct{ err, want error }{{source.ErrNotFound, source.ErrNotFound}, {nil, source.ErrCorrupt}} {
		bad := source.Tree{ID: tree.ID, Objects: lackingObjects{tree.Objects, tree.ID, tc.err}}
		_, err := remote(t, transport.Config{URL: s.url, Dir: dir}).PushInputs(t.Context(), bad)
		if !errors.Is(err, lifecycle.ErrSource) || !errors.Is(err, tc.want) {
			t.Errorf("%v, want %v of class ErrSource", err, tc.want)
		}
	}
	if _, packs := s.sent(); packs != 0 {
		t.Error("something was sent")
	}
}

// When ctx ends, so does git with all that it has started.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t, "sha1"), checkout(t, "sha1")
	proxy, url := behind(t, s)
	fault := proxy.Add(faultproxy.Rule{Method: http.MethodPost, Path: receivePack, Do: faultproxy.Stall()})
	groups := filepath.Join(t.TempDir(), "groups")
	program := wrapGit(t, "echo $$ >>"+groups)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := remote(t, transport.Config{URL: url, Dir: dir, Git: program}).PushInputs(ctx, pruned(t, dir, "api"))
		done <- err
	}()
	<-fault.Reached()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	// The system takes a moment to end what was killed.
	for alive(t, groups) {
		if t.Context().Err() != nil {
			t.Fatal("git goes on")
		}
	}
}

// alive says whether a process of one of the groups in a file still runs.
func alive(t *testing.T, file string) bool {
	t.Helper()
	groups := strings.Fields(read(t, file))
	out, err := exec.Command("ps", "-A", "-o", "pgid=,stat=").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); slices.Contains(groups, f[0]) && !strings.HasPrefix(f[1], "Z") {
			return true
		}
	}
	return false
}

// wrapGit is a git program that first runs a line of shell.
func wrapGit(t *testing.T, line string) string {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "git")
	exectest.Write(t, program, []byte("#!/bin/sh\n"+line+"\nexec "+real+" \"$@\"\n"))
	return program
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A caller that is killed leaves what the next one works with.
func TestKilled(t *testing.T) {
	if url := os.Getenv("TRANSPORT_TEST_URL"); url != "" { // the caller
		dir := os.Getenv("TRANSPORT_TEST_DIR")
		_, err := remote(t, transport.Config{URL: url, Dir: dir}).PushInputs(t.Context(), pruned(t, dir, "api"))
		t.Fatal("not killed", err)
	}
	t.Parallel()
	s, dir := newServer(t, "sha1"), checkout(t, "sha1")
	proxy, url := behind(t, s)
	fault := proxy.Add(faultproxy.Rule{Method: http.MethodPost, Path: receivePack, Times: 1, Do: faultproxy.Stall()})
	caller := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	caller.Env = append(os.Environ(), "TRANSPORT_TEST_URL="+url, "TRANSPORT_TEST_DIR="+dir)
	if err := caller.Start(); err != nil {
		t.Fatal(err)
	}
	<-fault.Reached()
	if err := caller.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = caller.Wait()
	fault.Release()
	s.holds(push(t, remote(t, transport.Config{URL: s.url, Dir: dir}), pruned(t, dir, "api")))
}

// What killed calls left is removed when it is a day old, and not before.
func TestSweep(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t, "sha1"), checkout(t, "sha1")
	tree := pruned(t, dir, "api")
	r := remote(t, transport.Config{URL: s.url, Dir: dir})
	push(t, r, tree)
	folder := filepath.Join(dir, ".git", "pharos", "transport")
	repo := filepath.Join(folder, "repository-sha1-1")
	write(t, repo, "full", "")
	old, recent := []string{"tmp-1/x", "repository-sha1-1/objects/tmp-1"}, []string{"tmp-2/x", "repository-sha1-1/objects/tmp-2"}
	for _, name := range append(old, recent...) {
		write(t, folder, name, "")
	}
	past := time.Now().Add(-25 * time.Hour)
	for _, name := range []string{"tmp-1", "repository-sha1-1/objects/tmp-1"} {
		if err := os.Chtimes(filepath.Join(folder, name), past, past); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(repo, "full")); err != nil {
		t.Fatal(err)
	}
	push(t, r, tree)
	for _, name := range old {
		if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
			t.Errorf("%s is left", name)
		}
	}
	for _, name := range recent {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			t.Error(err)
		}
	}

	// A repository that is full is left, and removed when nobody can use it any more.
	write(t, repo, "full", "")
	push(t, r, pruned(t, dir, "libs"))
	if _, err := os.Stat(repo); err != nil {
		t.Error(err)
	}
	if err := os.Chtimes(repo, past, past); err != nil {
		t.Fatal(err)
	}
	s.holds(push(t, r, tree))
	if _, err := os.Stat(repo); err == nil {
		t.Error("the repository that was left is still there")
	}
}
