package catalogue

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pharos-dev/pharos/catalogue/source"
)

const lockBegin = "apiVersion: pharos.dev/v1alpha1\nkind: Lock\n"

// digestOf is a digest of that digit.
func digestOf(digit string) string { return "sha256:" + strings.Repeat(digit, 64) }

func TestParseLock(t *testing.T) {
	t.Parallel()
	long := "'" + digestOf("a") + "'"
	for _, tt := range []struct{ name, in, want string }{
		{"empty", "# nothing\n", "l: is empty, and needs a document with apiVersion pharos.dev/v1alpha1 and kind Lock"},
		{"nothing locked", lockBegin + "images: {}\n", ""},
		{"two", lockBegin + "images:\n  alpine:3: " + long + "\n  '[::1]:5000/a': " + long + "\n", ""},
		{"no images", lockBegin, "l:1:1: images: is missing"},
		{"another field", lockBegin + "images: {}\nimage: {}\n", `l:4:1: image: is not known; did you mean "images"?`},
		{"another kind", "apiVersion: pharos.dev/v1alpha1\nkind: Catalogue\nimages: {}\n", `l:2:7: kind: is "Catalogue", and must be Lock`},
		{"another version", "apiVersion: pharos.dev/v2\nkind: Lock\nimages: {}\n", `l:1:13: apiVersion: is "pharos.dev/v2", and must be pharos.dev/v1alpha1`},
		{"a second document", lockBegin + "images: {}\n---\n" + lockBegin + "images: {}\n", "l:5:1: is a second document, and there can be only one"},
		{"twice", lockBegin + "images:\n  a: " + long + "\n  a: " + long + "\n", "l:5:3: images.a: is set twice, in line 4 too"},
		{"all at once", lockBegin + "images:\n  A B: " + long + "\n  a@" + digestOf("0") + ": " + long + "\n  scratch: " + long + "\n  a: sha256:0\n  b: " + strings.ToUpper(long) + "\n  c: ''\n  1.10: " + long + "\n  d:\n", "" +
			`l:4:8: images["A B"]: is no reference of an image` + "\n" +
			`l:5:78: images["a@` + digestOf("0") + `"]: is by digest already: remove it` + "\n" +
			`l:6:12: images.scratch: is no image: remove it` + "\n" +
			`l:7:6: images.a: is "sha256:0", and must be "sha256:" and 64 lower-case hexadecimal digits` + "\n" +
			`l:8:6: images.b: is "` + strings.ToUpper(digestOf("a")) + `", and must be "sha256:" and 64 lower-case hexadecimal digits` + "\n" +
			`l:9:6: images.c: is "", and must be "sha256:" and 64 lower-case hexadecimal digits` + "\n" +
			`l:10:3: images: has a key that is not a plain string: put it in quotes if it is meant to be one` + "\n" +
			`l:11:5: images.d: has no value: give it one (a string) or leave it out`},
		{"conflict markers", "<<<<<<< HEAD\n" + lockBegin + "=======\n>>>>>>> x\n", "l:2: mapping values are not allowed in this context"},
	} {
		_, err := ParseLock("l", []byte(tt.in))
		if tt.want == "" {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		if _, ok := errors.AsType[*ProblemsError](err); !ok {
			t.Errorf("%s: a %T: %v", tt.name, err, err)
			continue
		}
		if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestMarshalLock(t *testing.T) {
	t.Parallel()
	lock := Lock{Images: map[string]string{"golang:1.26": digestOf("1"), "1.10": digestOf("2"), "[::1]:5000/a": digestOf("3"), "alpine": digestOf("4")}}
	want := `# Written by kubectl pharos lock; commit it. It says which image each tag stands for.
apiVersion: pharos.dev/v1alpha1
kind: Lock
images:
  "1.10": "` + digestOf("2") + `"
  "[::1]:5000/a": "` + digestOf("3") + `"
  "alpine": "` + digestOf("4") + `"
  "golang:1.26": "` + digestOf("1") + `"
`
	data, err := lock.Marshal()
	if err != nil || string(data) != want {
		t.Errorf("%v, %s", err, cmp.Diff(want, string(data)))
	}
	if got, err := ParseLock(LockFileName, data); err != nil || !maps.Equal(got.Images, lock.Images) {
		t.Errorf("read again it is %v, %v", got, err)
	}
	data, err = Lock{}.Marshal()
	if got, parseErr := ParseLock(LockFileName, data); err != nil || parseErr != nil || got.Images != nil {
		t.Errorf("an empty lock: %v, read again %v, %v", err, got, parseErr)
	}
	for _, bad := range []Lock{{Images: map[string]string{"a\nb": digestOf("1")}}, {Images: map[string]string{"a": "latest"}}, {Images: map[string]string{"a@" + digestOf("1"): digestOf("1")}}} {
		data, err := bad.Marshal()
		if _, ok := errors.AsType[*ProblemsError](err); !ok || data != nil {
			t.Errorf("%v: %s, %v", bad, data, err)
		}
	}
}

func TestLoadLock(t *testing.T) {
	t.Parallel()
	objects := source.NewMemory()
	blob := objects.PutBlob([]byte(lockBegin + "images: {a: " + digestOf("1") + "}\n"))
	broken := objects.PutBlob([]byte("kind: [\n"))
	missing := source.ID(strings.Repeat("0", 40))
	entry := func(mode source.Mode, id source.ID) source.Tree {
		return rootOf(t, objects, source.Entry{Name: LockFileName, Mode: mode, ID: id})
	}
	for name, c := range map[string]struct {
		tree source.Tree
		want int
	}{"a file": {entry(source.ModeFile, blob), 1}, "no file": {rootOf(t, objects), 0}} {
		if lock, err := LoadLock(t.Context(), c.tree); err != nil || len(lock.Images) != c.want {
			t.Errorf("%s: %v, %v", name, lock, err)
		}
	}
	for name, tree := range map[string]source.Tree{
		"a broken file": entry(source.ModeFile, broken), "a link": entry(source.ModeSymlink, blob), "a folder": entry(source.ModeDir, rootOf(t, objects).ID),
	} {
		_, err := LoadLock(t.Context(), tree)
		e, ok := errors.AsType[*ProblemsError](err)
		if !ok || e.List[0].File != LockFileName || strings.Count(err.Error(), "\nCorrect pharos.lock by hand, or have it made anew: kubectl pharos lock --update") != 1 {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := (&Catalogue{}).States(t.Context(), tree); err == nil {
			t.Errorf("%s: there are states", name)
		}
	}
	for name, tree := range map[string]source.Tree{"a missing root": {ID: missing, Objects: objects}, "a missing file": entry(source.ModeFile, missing)} {
		if _, err := LoadLock(t.Context(), tree); !errors.Is(err, source.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is accepted is written and read again as the same, and as the same bytes
// from then on.
func FuzzParseLock(f *testing.F) {
	f.Add([]byte(lockBegin + "images: {}\n"))
	f.Add([]byte(lockBegin + "images:\n  alpine:3: " + digestOf("a") + "\n  \"[::1]:5000/a__b\": '" + digestOf("0") + "'\n"))
	f.Add([]byte(lockBegin + "images: {a: b, \"\": c, ~: d, 1: e}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lock, err := ParseLock("l", data)
		if err != nil {
			if _, ok := errors.AsType[*ProblemsError](err); !ok || lock.Images != nil {
				t.Fatalf("%v with a %T: %v", lock, err, err)
			}
			return
		}
		written, err := lock.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseLock("l", written)
		if err != nil || !maps.Equal(again.Images, lock.Images) {
			t.Fatalf("%v became %v, %v", lock, again, err)
		}
		if twice, err := again.Marshal(); err != nil || string(twice) != string(written) {
			t.Errorf("%s became %s, %v", written, twice, err)
		}
	})
}
