package dir_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/receipt"
	"github.com/pharos-dev/pharos/receipt/dir"
	"github.com/pharos-dev/pharos/receipt/receipttest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	receipttest.TestStore(t, func(t *testing.T) receipt.Store { return open(t, t.TempDir(), nil) })
}

func open(t *testing.T, folder string, clock dir.Clock) *dir.Store {
	t.Helper()
	s, err := dir.New(dir.Config{Dir: folder, Target: receipttest.Target, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func record(n int) receipt.Record {
	return receipt.Record{
		APIVersion: receipt.APIVersion,
		Kind:       receipt.Kind,
		Target:     receipt.Target{Name: receipttest.Target, ClusterUID: "5f0c8a52-8f4e-4f8f-b1f6-7a5a5b0f0a11"},
		Commit:     fmt.Sprintf("%040x", n),
		Tree:       strings.Repeat("2", 40),
		Catalogue:  "sha256:" + strings.Repeat("3", 64),
		Renderer:   receipt.Renderer{Name: "kustomize", Version: "v0.21.2"},
	}
}

func outcome(n int) receipt.Outcome {
	return receipt.Outcome{Type: receipt.OutcomeAttempt, Time: time.Unix(int64(n), 0).UTC(), Operation: fmt.Sprintf("op-%d", n)}
}

// fill puts a record with an outcome into the store and points at it.
func fill(t *testing.T, s *dir.Store) receipt.ID {
	t.Helper()
	id, err := s.Put(t.Context(), record(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AddOutcome(t.Context(), id, outcome(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SetPointers(t.Context(), receipt.Pointers{}, receipt.Pointers{Applied: id}); err != nil {
		t.Fatal(err)
	}
	return id
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]dir.Config{
		"no folder": {Target: "a"},
		"no target": {Dir: t.TempDir()},
		"a file":    {Dir: file, Target: "a"},
	} {
		if s, err := dir.New(c); err == nil || s != nil {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}

// The folder's own files are what its documentation says.
func TestLayout(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "a", "b")
	clock := &fixedClock{time.Date(2026, 3, 4, 5, 6, 7, 89, time.FixedZone("", 3600))}
	id := fill(t, open(t, folder, clock))
	var files []string
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			rel, _ := filepath.Rel(folder, path)
			files = append(files, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"lock",
		"outcomes/" + id.Hex() + ".jsonl",
		"pointers.json",
		"records/20260304T040607.000000089Z-" + id.Hex() + ".json",
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Error(diff)
	}
	data, err := os.ReadFile(filepath.Join(folder, want[3]))
	if err != nil {
		t.Fatal(err)
	}
	if canonical, err := record(1).Canonical(); err != nil || string(data) != string(canonical) {
		t.Errorf("the record's file holds %q, not its canonical bytes (%v)", data, err)
	}
}

type fixedClock struct{ now time.Time }

func (c *fixedClock) Now() time.Time { return c.now }

// A clock that is set back must not change which receipt is the newest.
func TestClockGoesBack(t *testing.T) {
	t.Parallel()
	clock := &fixedClock{time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
	s := open(t, t.TempDir(), clock)
	var want []receipt.ID
	for n := range 4 {
		id, err := s.Put(t.Context(), record(n))
		if err != nil {
			t.Fatal(err)
		}
		want = append([]receipt.ID{id}, want...)
		clock.now = clock.now.Add(-time.Hour)
	}
	list, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []receipt.ID
	for i, sum := range list {
		got = append(got, sum.ID)
		if i > 0 && !sum.Created.Before(list[i-1].Created) {
			t.Errorf("%s is not before %s", sum.Created, list[i-1].Created)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What was damaged is reported with its path, by whatever reads it, and is not
// written over.
func TestCorrupt(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"records/*.json", "outcomes/*.jsonl", "pointers.json"} {
		for name, damage := range map[string]func(data []byte) []byte{
			"empty":     func([]byte) []byte { return nil },
			"cut off":   func(data []byte) []byte { return data[:len(data)/2] },
			"zeros":     func(data []byte) []byte { return make([]byte, len(data)) },
			"field":     func(data []byte) []byte { return []byte(strings.Replace(string(data), "{", `{"a":1,`, 1)) },
			"too large": func([]byte) []byte { return make([]byte, 4*receipt.MaxSize+1) },
			"another": func(data []byte) []byte {
				return []byte(strings.NewReplacer(strings.Repeat("0", 39)+"1", strings.Repeat("0", 39)+"2", `"op-1"`, `""`, `"applied":"sha256:`, `"applied":"sha256:0`).Replace(string(data)))
			},
		} {
			if file == "outcomes/*.jsonl" && name == "empty" {
				continue // no outcomes: nothing tells that there were some
			}
			t.Run(file+" "+name, func(t *testing.T) {
				t.Parallel()
				folder := t.TempDir()
				s := open(t, folder, nil)
				id := fill(t, s)
				paths, err := filepath.Glob(filepath.Join(folder, file))
				if err != nil || len(paths) != 1 {
					t.Fatal(paths, err)
				}
				data, err := os.ReadFile(paths[0])
				if err != nil {
					t.Fatal(err)
				}
				damaged := damage(data)
				if string(damaged) == string(data) {
					t.Fatal("it is not damaged")
				}
				if err := os.WriteFile(paths[0], damaged, 0o600); err != nil {
					t.Fatal(err)
				}
				calls := map[string]func() error{}
				switch file {
				case "records/*.json":
					calls["Get"] = func() error { _, err := s.Get(t.Context(), id); return err }
					calls["Put"] = func() error { _, err := s.Put(t.Context(), record(1)); return err }
					calls["List"] = func() error { return listed(t, s, id) }
				case "outcomes/*.jsonl":
					calls["Outcomes"] = func() error { _, err := s.Outcomes(t.Context(), id); return err }
					calls["List"] = func() error { return listed(t, s, id) }
				case "pointers.json":
					calls["Pointers"] = func() error { _, err := s.Pointers(t.Context()); return err }
					calls["SetPointers"] = func() error {
						_, err := s.SetPointers(t.Context(), receipt.Pointers{Version: "1"}, receipt.Pointers{Applied: id})
						return err
					}
				}
				for call, f := range calls {
					err := f()
					var fe *dir.FileError
					if !errors.Is(err, receipt.ErrCorrupt) || !errors.As(err, &fe) || fe.Path != paths[0] {
						t.Errorf("%s: %v, want ErrCorrupt of %s", call, err, paths[0])
					}
				}
				if now, err := os.ReadFile(paths[0]); err != nil || string(now) != string(damaged) {
					t.Errorf("the damaged file was changed (%v)", err)
				}
			})
		}
	}
}

// listed returns what a list says is wrong with a receipt, which is the second
// of two.
func listed(t *testing.T, s *dir.Store, id receipt.ID) error {
	t.Helper()
	other, err := s.Put(t.Context(), record(3))
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.List(t.Context())
	if err != nil || len(l) != 2 || l[0].ID != other || l[0].Err != nil || l[1].ID != id {
		t.Fatalf("List: %+v, %v", l, err)
	}
	return l[1].Err
}

// Damaged pointers can be replaced by whoever has seen the damage, once.
func TestReplaceDamagedPointers(t *testing.T) {
	t.Parallel()
	one := `"sha256:` + strings.Repeat("1", 64) + `"`
	for name, damaged := range map[string]string{
		"empty": "", "garbage": "main", "too large": strings.Repeat("x", 2_000),
		"not an ID":     `{"version":7,"applied":"main","repository":""}`,
		"nothing":       `{}`,
		"all but count": `{"version":7}`,
		"no applied":    `{"version":7,"live":` + one + `,"repository":""}`,
		"empty applied": `{"version":7,"applied":"","live":` + one + `,"repository":""}`,
		"no repository": `{"version":7,"applied":` + one + `,"live":` + one + `}`,
		"no version":    `{"applied":` + one + `,"repository":""}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			s := open(t, folder, nil)
			id := fill(t, s)
			good, err := s.Pointers(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, "pointers.json"), []byte(damaged), 0o600); err != nil {
				t.Fatal(err)
			}
			bad, err := s.Pointers(t.Context())
			if !errors.Is(err, receipt.ErrCorrupt) || bad.Version == "" || bad.Applied != "" || bad.Live != "" {
				t.Fatalf("Pointers: %+v, %v", bad, err)
			}
			for _, old := range []receipt.Pointers{{}, good} {
				if _, err := s.SetPointers(t.Context(), old, receipt.Pointers{Applied: id}); !errors.Is(err, receipt.ErrCorrupt) {
					t.Errorf("SetPointers from %+v: %v, want ErrCorrupt", old, err)
				}
			}
			set, err := s.SetPointers(t.Context(), bad, receipt.Pointers{Applied: id})
			if err != nil || set.Applied != id || set.Version == good.Version {
				t.Fatalf("SetPointers: %+v, %v", set, err)
			}
			for _, old := range []receipt.Pointers{bad, good} {
				if _, err := s.SetPointers(t.Context(), old, receipt.Pointers{Applied: id}); !errors.Is(err, receipt.ErrConflict) {
					t.Errorf("SetPointers from %+v afterwards: %v, want ErrConflict", old, err)
				}
			}
			if now, err := s.SetPointers(t.Context(), set, receipt.Pointers{Applied: id, Live: id}); err != nil || now.Version == set.Version {
				t.Errorf("SetPointers from what was set: %+v, %v", now, err)
			}
		})
	}
}

// Files that are none of the store's are left alone, temporary ones of writers
// that were killed go.
func TestForeignFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := open(t, folder, nil)
	id := fill(t, s)
	keep := []string{"records/README", "records/x-y.json", "records/20260304T040607.000000089Z-abc.json", "outcomes/notes"}
	remove := []string{".tmp-1", "records/.tmp-2", "outcomes/.tmp-3"}
	for _, f := range append(keep, remove...) {
		if err := os.WriteFile(filepath.Join(folder, f), []byte("half a rec"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := s.List(t.Context()); err != nil || len(list) != 1 || list[0].ID != id {
		t.Errorf("List: %v, %v", list, err)
	}
	if _, err := s.Put(t.Context(), record(2)); err != nil {
		t.Error(err)
	}
	for _, f := range keep {
		if _, err := os.Stat(filepath.Join(folder, f)); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
	for _, f := range remove {
		if _, err := os.Stat(filepath.Join(folder, f)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v, want it removed", f, err)
		}
	}
}

// A deletion that was killed between the record and its outcomes is ended by the
// next one.
func TestDeleteEndsAnother(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := open(t, folder, nil)
	fill(t, s)
	other, err := s.Put(t.Context(), record(2))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AddOutcome(t.Context(), other, outcome(2)); err != nil {
		t.Fatal(err)
	}
	records, err := filepath.Glob(filepath.Join(folder, "records", "*-"+other.Hex()+".json"))
	if err != nil || len(records) != 1 {
		t.Fatal(records, err)
	}
	if err := os.Remove(records[0]); err != nil {
		t.Fatal(err)
	}
	if l, err := s.List(t.Context()); err != nil || len(l) != 1 {
		t.Errorf("the list is %v, %v", l, err)
	}
	for _, name := range []string{"notes.txt", "x.jsonl"} { // none of the store's
		if err := os.WriteFile(filepath.Join(folder, "outcomes", name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Delete(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(filepath.Join(folder, "outcomes"))
	if err != nil || len(files) != 3 {
		t.Errorf("the outcomes' folder holds %v (%v)", files, err)
	}
}

// With pointers that cannot be read, nothing is known not to be needed.
func TestDeleteBesideDamagedPointers(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := open(t, folder, nil)
	fill(t, s)
	other, err := s.Put(t.Context(), record(2))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "pointers.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), other); !errors.Is(err, receipt.ErrInUse) || !errors.Is(err, receipt.ErrCorrupt) {
		t.Errorf("Delete: %v, want ErrInUse and ErrCorrupt", err)
	}
	if _, err := s.Get(t.Context(), other); err != nil {
		t.Error(err)
	}
}
