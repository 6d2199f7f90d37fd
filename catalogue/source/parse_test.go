package source

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

const id20 = "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13"

// rawTree has entries of the form "mode name".
func rawTree(entries ...string) []byte {
	return []byte(strings.Join(entries, "\x00"+id20) + "\x00" + id20)
}

func TestParseTreeRefusesWhatGitWouldNotWrite(t *testing.T) {
	t.Parallel()
	for want, raw := range map[string][]byte{
		`named ""`:               rawTree("100644 "),
		`named "."`:              rawTree("40000 ."),
		`named ".."`:             rawTree("40000 .."),
		`named ".git"`:           rawTree("40000 .git"),
		`named ".GIT"`:           rawTree("40000 .GIT"),
		`named ".git. ."`:        rawTree("40000 .git. ."),
		`named ".git::$INDEX`:    rawTree("40000 .git::$INDEX_ALLOCATION"),
		`named "GIT~1"`:          rawTree("40000 GIT~1"),
		`named ".g\u200cit"`:     rawTree("40000 .g\u200cit"),
		`named "a/b"`:            rawTree("100644 a/b"),
		`named "/"`:              rawTree("100644 /"),
		`"a" stands twice`:       rawTree("100644 a", "100755 a"),
		`"b" stands twice`:       rawTree("100644 b", "100644 b.c", "40000 b"),
		`"a" is out of order`:    rawTree("100644 b", "100644 a"),
		`"a.b" is out of order`:  rawTree("40000 a", "100644 a.b"),
		`mode "0"`:               rawTree("0 a"),
		`mode "140000"`:          rawTree("140000 a"),
		`mode "40755"`:           rawTree("40755 a"),
		`mode "120777"`:          rawTree("120777 a"),
		`mode "104755"`:          rawTree("104755 a"),
		`mode "1006440"`:         rawTree("1006440 a"),
		`mode "-100644"`:         rawTree("-100644 a"),
		`mode "9"`:               rawTree("9 a"),
		`mode ""`:                rawTree(" a"),
		"without a name":         rawTree("100644"),
		"ends within an entry":   rawTree("100644 a")[:20],
		"tree ends within an en": []byte("100644 a"),
	} {
		entries, err := ParseTree(raw, 20)
		if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), want) || entries != nil {
			t.Errorf("%s: %v, %v", want, entries, err)
		}
	}
}

func TestParseTreeReadsOldModesAsGitDoes(t *testing.T) {
	t.Parallel()
	entries, err := ParseTree(rawTree("100664 a", "100600 b", "100775 c", "040000 d", "160000 e", "120000 f", "100644 git", "100644 h"), 20)
	if err != nil {
		t.Fatal(err)
	}
	var modes []Mode
	for _, e := range entries {
		modes = append(modes, e.Mode)
	}
	if want := []Mode{ModeFile, ModeFile, ModeExecutable, ModeDir, ModeSubmodule, ModeSymlink, ModeFile, ModeFile}; !slices.Equal(modes, want) {
		t.Errorf("%o, want %o", modes, want)
	}
}

func TestNamesThatOnlyLookLikeDotGitAreAllowed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"git", ".gitignore", ".github", ".git2", "git~2", "GIT", "...", ".gi", "x.git", "a\nb", "\\", "g", "\xff"} {
		if err := checkName(name); err != nil {
			t.Error(err)
		}
	}
}

func TestHashTreeIsGitsInBothFormats(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		dir := resolvedTemp(t)
		git(t, dir, "init", "-q", "--object-format="+format)
		for _, f := range []string{"a", "a.b", "a-b/c", "a/b", "é/x"} {
			write(t, dir, strings.ReplaceAll(f, "a/b", "aa/b"), f)
		}
		git(t, dir, "add", "-A")
		want := git(t, dir, "write-tree")
		var entries []Entry
		for line := range strings.SplitSeq(git(t, dir, "ls-tree", "-z", want), "\x00") {
			fields := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
			if len(fields) != 4 {
				continue
			}
			mode, err := parseMode([]byte(fields[0]))
			if err != nil {
				t.Fatal(err)
			}
			entries = append(entries, Entry{Name: fields[3], Mode: mode, ID: ID(fields[2])})
		}
		slices.Reverse(entries)
		SortEntries(entries)
		if err := CheckEntries(entries); err != nil || len(entries) != 5 {
			t.Fatal(entries, err)
		}
		if got := HashTree(entries); string(got) != want {
			t.Errorf("%s: %s, want %s", format, got, want)
		}
		parsed, err := ParseTree(EncodeTree(entries), len(want)/2)
		if err != nil || !slices.Equal(parsed, entries) {
			t.Errorf("%s: %v, %v", format, parsed, err)
		}
	}
}

func FuzzParseTree(f *testing.F) {
	f.Add(rawTree("100644 a", "100644 a.b", "40000 b"), false)
	f.Add(rawTree("100664 a", "040000 b"), false)
	f.Add(rawTree("40000 .git"), false)
	f.Add([]byte("160000 s\x00"+id20+id20[:12]), true)
	f.Add([]byte("100644 a\x00short"), false)
	f.Add([]byte{}, true)
	f.Fuzz(func(t *testing.T, raw []byte, wide bool) {
		idLen := 20
		if wide {
			idLen = 32
		}
		entries, err := ParseTree(raw, idLen)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		again, err := ParseTree(EncodeTree(entries), idLen)
		if err != nil || !slices.Equal(again, entries) {
			t.Fatalf("%v, %v; want %v", again, err, entries)
		}
		if !slices.IsSortedFunc(entries, compareEntries) {
			t.Fatal("not sorted")
		}
		for _, e := range entries {
			if i := indexName(entries, e.Name); entries[i] != e {
				t.Fatalf("%q is not found", e.Name)
			}
			if !e.Mode.valid() || strings.ContainsAny(e.Name, "/\x00") || strings.EqualFold(e.Name, ".git") || e.Name == ".." {
				t.Fatalf("%+v", e)
			}
		}
	})
}

func FuzzParseCommit(f *testing.F) {
	id := strings.Repeat("ab", 20)
	f.Add([]byte("tree " + id + "\nparent " + id + "\nauthor a <a> 0 +0000\n\n\nsubject\n\nbody"))
	f.Add([]byte("tree " + id))
	f.Add([]byte("tree \nparent \n\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := parseCommit(raw)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		if !isID(c.Tree.ID) || strings.Contains(c.Subject, "\n") || !bytes.Contains(raw, []byte(c.Tree.ID)) {
			t.Fatalf("%+v", c)
		}
	})
}
