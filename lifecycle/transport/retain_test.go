package transport_test

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/exectest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/transport"
	"github.com/pharos-dev/pharos/receipt"
)

// refs are the references of the server, without refs/pharos/ and without the time
// in marks.
func (s *server) refs() string {
	s.t.Helper()
	var names []string
	for line := range strings.Lines(git(s.t, s.dir, "for-each-ref", "--format=%(refname)", "refs/pharos")) {
		name := strings.TrimPrefix(strings.TrimSpace(line), "refs/pharos/")
		if strings.HasPrefix(name, "unused/") {
			name = name[:strings.LastIndexByte(name, '/')]
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func (s *server) retains(r *transport.Remote, dropped []receipt.ID, inputs ...source.ID) {
	s.t.Helper()
	if inputs == nil {
		inputs = []source.ID{}
	}
	if err := r.Retain(s.t.Context(), lifecycle.RetainRequest{Dropped: dropped, Inputs: inputs}); err != nil {
		s.t.Fatal(err)
	}
}

func TestRetainReceipts(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			s, dir := newServer(t, format), checkout(t, format)
			r := remote(t, transport.Config{URL: s.url, Dir: dir})
			for _, digit := range []string{"a", "b", "c"} {
				s.publishes(r, dir, receiptID(digit))
			}
			in := push(t, r, pruned(t, dir, "api"))
			a, b, c := "receipts/"+receiptID("a").Hex(), "receipts/"+receiptID("b").Hex(), "receipts/"+receiptID("c").Hex()
			inputs := "inputs/" + string(in.Tree)

			if err := r.Retain(t.Context(), lifecycle.RetainRequest{}); err != nil || s.refs() != strings.Join([]string{inputs, a, b, c}, " ") {
				t.Errorf("nothing was dropped, and the server has %s (%v)", s.refs(), err)
			}
			for range 2 { // the second time they are gone
				err := r.Retain(t.Context(), lifecycle.RetainRequest{Dropped: []receipt.ID{receiptID("a"), receiptID("c"), receiptID("d")}})
				if err != nil || s.refs() != inputs+" "+b {
					t.Errorf("the server has %s (%v)", s.refs(), err)
				}
			}
		})
	}
}

// Inputs that no receipt needs are marked, and removed a day later, unless they
// were needed meanwhile.
func TestRetainInputs(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			s, dir := newServer(t, format), checkout(t, format)
			now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
			r := remote(t, transport.Config{URL: s.url, Dir: dir, Now: func() time.Time { return now }})
			api, libs := pruned(t, dir, "api"), pruned(t, dir, "libs")
			push(t, r, api)
			push(t, r, libs)
			want := func(when string, refs ...string) {
				t.Helper()
				if got := s.refs(); got != strings.Join(refs, " ") {
					t.Errorf("%s, the server has %s", when, got)
				}
			}
			first, second := "inputs/"+string(api.ID), "inputs/"+string(libs.ID)
			all := []string{first, second}
			if first > second {
				all = []string{second, first}
			}
			marked := append(all[:2:2], "unused/"+string(libs.ID))

			s.retains(r, nil, api.ID, libs.ID)
			want("needed by receipts", all...)
			s.retains(r, nil, api.ID)
			want("no longer needed", marked...)
			now = now.Add(23 * time.Hour)
			s.retains(r, nil, api.ID)
			want("within a day", marked...)

			// A build needs them: it has the mark removed, and a day begins anew.
			if in := push(t, r, libs); in.Sent {
				t.Error("it was sent again")
			}
			want("needed by a build", all...)
			s.retains(r, nil, api.ID)
			want("marked again", marked...)
			now = now.Add(2 * time.Hour)
			s.retains(r, nil, api.ID)
			want("within a day of that", marked...)
			now = now.Add(23 * time.Hour)
			s.retains(r, nil, api.ID)
			want("after a day", first)
			if in := push(t, r, libs); !in.Sent {
				t.Error("it is not said to be sent")
			}
			want("needed again", all...)

			// A receipt needs what was marked.
			s.retains(r, nil, api.ID)
			s.retains(r, nil, api.ID, libs.ID)
			want("needed by a receipt again", all...)

			// Somebody removed by hand what is marked.
			s.retains(r, nil, api.ID)
			git(t, s.dir, "update-ref", "-d", "refs/pharos/"+second)
			s.retains(r, nil, api.ID)
			want("removed by hand", first)
		})
	}
}

// A build that comes at the very moment at which its inputs are removed ends with
// them there: either it finds the mark, or the mark's removal finds that.
func TestRetainWhileABuildComes(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t, "sha1"), checkout(t, "sha1")
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	config := transport.Config{URL: s.url, Dir: dir, Now: func() time.Time { return now }}
	r := remote(t, config)
	tree := pruned(t, dir, "api")
	push(t, r, tree)
	s.retains(r, nil)
	now = now.Add(25 * time.Hour)

	proxy, url := behind(t, s)
	config.URL = url
	fault := proxy.Add(faultproxy.Rule{Method: http.MethodPost, Path: receivePack, Times: 1, Do: faultproxy.Stall()})
	done := make(chan error, 1)
	go func() {
		done <- remote(t, config).Retain(t.Context(), lifecycle.RetainRequest{Inputs: []source.ID{}})
	}()
	<-fault.Reached()
	s.holds(push(t, r, tree)) // it removes the mark
	fault.Release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	s.holds(transport.Inputs{Tree: tree.ID, Commit: transport.InputsCommit(tree.ID)})

	// The other way round: the inputs are gone when the build removes the mark.
	now = now.Add(25 * time.Hour)
	fault = proxy.Add(faultproxy.Rule{Method: http.MethodPost, Path: receivePack, Times: 1, Do: faultproxy.Stall()})
	go func() {
		_, err := remote(t, config).PushInputs(t.Context(), tree)
		done <- err
	}()
	<-fault.Reached()
	s.retains(r, nil)
	fault.Release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	s.holds(transport.Inputs{Tree: tree.ID, Commit: transport.InputsCommit(tree.ID)})
}

func TestRetainFaults(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t, "sha1"), checkout(t, "sha1")
	r := remote(t, transport.Config{URL: s.url, Dir: dir})
	s.publishes(r, dir, receiptID("a"))
	exectest.Write(t, filepath.Join(s.dir, "hooks", "update"), []byte("#!/bin/sh\necho not that >&2\nexit 1\n"))
	err := r.Retain(t.Context(), lifecycle.RetainRequest{Dropped: []receipt.ID{receiptID("a")}})
	if !errors.Is(err, lifecycle.ErrUnreachable) || !strings.Contains(err.Error(), "allow refs/pharos/*") {
		t.Errorf("of a server that denies it: %v", err)
	}
	away := remote(t, transport.Config{URL: "http://me:hunter2@127.0.0.1:1/repo.git", Folder: t.TempDir()})
	err = away.Retain(t.Context(), lifecycle.RetainRequest{Dropped: []receipt.ID{receiptID("a")}})
	if !errors.Is(err, lifecycle.ErrUnreachable) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("of a server that is away: %v", err)
	}
	gone := remote(t, transport.Config{URL: s.url + "/none.git", Folder: t.TempDir()})
	if err := gone.Retain(t.Context(), lifecycle.RetainRequest{Dropped: []receipt.ID{receiptID("a")}}); err != nil {
		t.Errorf("of a repository that is not there: %v", err)
	}
}

// Inputs are removed with their mark or not at all: a server that cannot do that
// keeps them.
func TestRetainWithoutAtomicPushes(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t, "sha1"), checkout(t, "sha1")
	git(t, s.dir, "config", "receive.advertiseAtomic", "false")
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	r := remote(t, transport.Config{URL: s.url, Dir: dir, Now: func() time.Time { return now }})
	in := push(t, r, pruned(t, dir, "api"))
	s.retains(r, nil)
	now = now.Add(25 * time.Hour)
	s.retains(r, nil)
	s.holds(in)
}
