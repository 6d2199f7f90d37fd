package takeover_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
	"github.com/pharos-dev/pharos/lifecycle/takeover/restore"
)

// rewrite changes what the journal of a session has that does not run.
func rewrite(t *testing.T, folder string, change func(*journal.Document)) {
	t.Helper()
	file, err := journal.OpenFile(filepath.Join(folder, "journal"))
	if err != nil {
		t.Fatal(err)
	}
	doc, version, err := file.Load()
	if err != nil {
		t.Fatal(err)
	}
	change(&doc)
	if _, err := file.Save(doc, version); err != nil {
		t.Fatal(err)
	}
}

// A session is not handed back on another cluster, where nothing of it is.
func TestOtherCluster(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	s.cancel()
	<-s.ended
	journalOf := func(cluster string) (was string) {
		t.Helper()
		rewrite(t, s.Config().Folder, func(d *journal.Document) { was, d.Cluster = d.Cluster, cluster })
		return was
	}
	right := journalOf("another")
	if err := s.finish(); !errors.Is(err, lifecycle.ErrBlocked) || !strings.Contains(err.Error(), "another cluster") {
		t.Errorf("handed back on another cluster: %v", err)
	}
	if err := <-begin(t, s.Config()).ended; !errors.Is(err, lifecycle.ErrBlocked) {
		t.Errorf("gone on with on another cluster: %v", err)
	}
	journalOf(right)
	if err := s.finish(); err != nil {
		t.Error(err)
	}
	s.Whole(s.before)
}

// Where the journal cannot be read it is said what helps, and nothing is written over.
func TestDamagedJournal(t *testing.T) {
	t.Parallel()
	s := serve(t, editAPI, nil)
	s.cancel()
	<-s.ended
	path := filepath.Join(s.Config().Folder, "journal", "journal.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, left := takeover.Left(s.Config().Folder)
	for what, err := range map[string]error{"looked at": left, "handed back": s.finish(), "gone on with": <-begin(t, s.Config()).ended} {
		if !errors.Is(err, lifecycle.ErrBlocked) || !errors.Is(err, journal.ErrDamaged) || !strings.Contains(err.Error(), "handback --force --reason") || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if report, err := s.elsewhere().Restore(t.Context(), restore.Request{Force: true, Reason: "the disk"}); err != nil || !report.Done {
		t.Errorf("%+v, %v", report, err)
	}
	if s.Spec("api") != s.before["api"] {
		t.Error("it is not as it was")
	}
	// Then it stands in nobody's way, and is not lost.
	aside, err := takeover.SetAside(s.Config().Folder)
	if kept, rerr := os.ReadFile(aside); err != nil || rerr != nil || string(kept) != "{" {
		t.Errorf("set aside as %q with %q, %v, %v", aside, kept, err, rerr)
	}
	if _, err := takeover.Left(s.Config().Folder); !errors.Is(err, journal.ErrNone) {
		t.Errorf("there is %v", err)
	}
	if aside, err := takeover.SetAside(s.Config().Folder); aside != "" || err != nil {
		t.Errorf("set aside as %q, %v", aside, err)
	}
}

// A session object that somebody has damaged keeps nobody from handing back, or going on,
// by the journal, and is not lost.
func TestDamagedSessionObject(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*served) error{
		"handed back": func(s *served) error { return s.finish() },
		"gone on with": func(s *served) error {
			c := s.Config()
			c.Workstation = s.local
			r := begin(t, c)
			r.until(takeover.EventServing, 1)
			return r.HandBack(t.Context())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, editAPI, nil)
			s.cancel()
			<-s.ended
			secrets := s.Client().CoreV1().Secrets(s.Namespace)
			if _, err := secrets.Patch(t.Context(), journal.ObjectName(s.Namespace), types.MergePatchType, []byte(`{"stringData":{"session.json":"{"}}`), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := end(s); err != nil {
				t.Fatal(err)
			}
			s.Whole(s.before)
			kept, err := secrets.List(t.Context(), metav1.ListOptions{LabelSelector: "pharos.dev/takeover-of=" + s.Namespace})
			if err != nil || len(kept.Items) != 1 || string(kept.Items[0].Data["session.json"]) != "{" {
				t.Errorf("kept %+v, %v", kept, err)
			}
		})
	}
}
