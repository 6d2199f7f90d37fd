package takeover_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// A session whose checkout is deleted, or what its journal is in, hands everything back
// by itself: nobody could ask it for that there.
func TestCheckoutDeleted(t *testing.T) {
	t.Parallel()
	away := func(path string) error { return os.Rename(path, path+".old") }
	for name, remove := range map[string]func(root, folder string) error{
		"the checkout": func(root, _ string) error { return away(root) },
		"the folder":   func(_, folder string) error { return os.RemoveAll(folder) },
		"the journal":  func(_, folder string) error { return os.RemoveAll(filepath.Join(folder, "journal")) },
		"another has its place": func(_, folder string) error {
			if err := away(folder); err != nil {
				return err
			}
			return os.Mkdir(folder, 0o700)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var root, folder string
			s := serve(t, editAPI, func(c *takeover.Config) {
				folder = c.Folder
				root = filepath.Join(folder, "..", "..", "..")
				c.Root = root
			})
			if err := remove(root, folder); err != nil {
				t.Fatal(err)
			}
			if err := <-s.ended; err != nil {
				t.Errorf("it ended with %v", err)
			}
			if !s.warned("the checkout is gone") {
				t.Error("it is not said why")
			}
			if err := os.Rename(root+".old", root); err == nil { // for the repository
				if err := os.RemoveAll(folder); err != nil {
					t.Fatal(err)
				}
			}
			s.Whole(s.before)
		})
	}
}

// A session whose checkout is deleted and whose API server is away ends all the same once
// it has tried to hand back for a while, with what runs here: nobody could end it there.
// The end of the lease has everything put back.
func TestCheckoutDeletedInOutage(t *testing.T) {
	t.Parallel()
	var folder string
	s := serve(t, editAPI, func(c *takeover.Config) { folder, c.Timeout = c.Folder, time.Hour })
	mend := s.cutOff()
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-s.ended:
		if !errors.Is(err, lifecycle.ErrUnreachable) || !strings.Contains(err.Error(), "the checkout is gone, and the target cannot be reached") {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(5 * time.Minute):
		t.Fatal("it does not end")
	}
	if names := s.local.Names(); len(names) > 0 {
		t.Errorf("there still run %v", names)
	}
	mend()
	s.free()
	if _, err := s.elsewhere().Pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.settle()
	s.Whole(s.before)
}

// unwritable has nothing be written to the journal of a session's folder until what it
// returns is called.
func unwritable(t *testing.T, folder string) (mend func()) {
	t.Helper()
	lock := filepath.Join(folder, "journal", "lock")
	change := func(do func() error) {
		t.Helper()
		if err := os.Remove(lock); err != nil {
			t.Error(err)
		}
		if err := do(); err != nil {
			t.Error(err)
		}
	}
	change(func() error { return os.Mkdir(lock, 0o700) })
	return func() { change(func() error { return os.WriteFile(lock, nil, 0o600) }) }
}

// warned says whether there was a warning of that.
func (r *running) warned(of string) bool {
	for _, e := range r.all() {
		if e.Type == takeover.EventWarning && strings.Contains(e.Reason, of) {
			return true
		}
	}
	return false
}

// A journal that cannot be written, as on a disk that is full, ends no session, which is
// written down on the target all the same: who finds the journal of before goes on.
func TestJournalCannotBeWritten(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	mend, back := s.cutOff(), unwritable(t, s.Config().Folder)
	s.free()
	mend()
	s.until(takeover.EventServing, 2) // with another lease
	if !s.warned("the journal cannot be written") {
		t.Error("it is not said")
	}
	s.cancel()
	<-s.ended
	back()
	if err := s.finish(); err != nil {
		t.Errorf("handed back: %v", err)
	}
	s.Whole(s.before)
}

// onStart is a workstation that does something before it starts a process.
type onStart struct {
	takeover.Workstation
	do func()
}

func (w onStart) Start(ctx context.Context, r takeover.StartRequest) (takeover.Process, error) {
	w.do()
	return w.Workstation.Start(ctx, r)
}

// What is diverted while the journal cannot be written is put back by the next process,
// which finds a journal that does not have it.
func TestDivertedWithoutJournal(t *testing.T) {
	t.Parallel()
	var mend func()
	s := serve(t, editAPI, func(c *takeover.Config) {
		c.Workstation = onStart{c.Workstation, func() { mend = unwritable(t, c.Folder) }}
	})
	s.cancel()
	<-s.ended
	mend()
	doc, err := s.Session.Pending()
	if err != nil || doc.Workloads[0].State != journal.Untouched {
		t.Errorf("the journal has %+v, %v", doc, err)
	}
	if err := s.finish(); err != nil {
		t.Errorf("handed back: %v", err)
	}
	s.Whole(s.before)
}

// It is written again as soon as that can be.
func TestJournalIsWrittenAgain(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]string{"api/main.txt": "api 2\n", "mail/main.txt": "mail 2\n"}, nil)
	mend := unwritable(t, s.Config().Folder)
	if err := s.HandBack(t.Context(), "mail"); err != nil {
		t.Fatal(err)
	}
	mend()
	for !s.warned("the journal is written again") {
		<-s.more
	}
	doc, err := s.Session.Pending()
	if err != nil || len(doc.Workloads) != 2 || doc.Workloads[1].State != journal.HandedBack {
		t.Errorf("the journal has %v, %v", doc.Workloads, err)
	}
	if err := s.HandBack(t.Context()); err != nil {
		t.Error(err)
	}
	s.Whole(s.before)
}
