package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestConfigurationsThatGitTakes has settings that say nothing of how objects
// are stored.
func TestConfigurationsThatGitTakes(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"negative refspec":    "[remote \"o\"]\n\turl = u\n\tfetch = ^refs/heads/x\n",
		"remote without url":  "[remote \"o\"]\n\tprune = true\n",
		"refspec of one name": "[remote \"o\"]\n\turl = u\n\tfetch = main\n",
		"number with a unit":  "[pack]\n\twindow = 1k\n",
		"rebase":              "[branch \"x\"]\n\trebase = interactive\n\tmerge = main\n",
		"merge of a tag":      "[branch \"x\"]\n\tmerge = refs/tags/x\n\tremote = .\n",
		"escapes":             "[alias]\n\tx = \"!f() { echo \\\"a\\tb\\\" # no comment; }; f\" ; one\n",
		"continued line":      "[alias]\n\tx = a \\\n b\n",
		"key without value":   "[core]\n\tlogAllRefUpdates\n",
		"one line":            "[user] name = a ; c\n",
		"old section form":    "[branch.x]\n\tmerge = refs/heads/x\n",
		"odd subsection":      "[branch \"a \\\"b\\\\ ]c\"]\n\tmerge = refs/heads/x\n",
		"CRLF":                "[alias]\r\n\tx = a\r\n",
		"no colour":           "[color]\n\tui = no\n[url \"a\"]\n\tinsteadOf = b\n\tpushInsteadOf = c\n",
		"include":             "[include]\n\tpath = absent\n[includeIf \"gitdir:~/x/\"]\n\tpath = y\n",
		"spelling":            "[CORE]\n\tRepositoryFormatVersion = 0\n",
	} {
		dir := newRepo(t)
		config := filepath.Join(dir, ".git", "config")
		before, err := os.ReadFile(config)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(config, append(before, text...), 0o644); err != nil {
			t.Fatal(err)
		}
		want := commit(t, dir, "first") // git takes it
		r, err := Open(dir)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c, err := r.Commit(t.Context(), ""); err != nil || string(c.ID) != want {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
	dir := newRepo(t)
	write(t, dir, ".git/config", "[core\n")
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("a broken configuration: %v", err)
	}
}

// TestBasesOfDeltasMayMove repacks between reads of a small delta of a large
// blob: nothing may be kept of where the base was.
func TestBasesOfDeltasMayMove(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	var b bytes.Buffer
	for i := 0; b.Len() <= MaxFile; i++ {
		fmt.Fprintf(&b, "%d\n", i)
	}
	content := b.String()
	write(t, dir, "large", content)
	small := content[:MaxFile-4096]
	write(t, dir, "small", small)
	commit(t, dir, "first")
	git(t, dir, "config", "core.bigFileThreshold", "1g")
	r := open(t, dir)
	for round := range 3 {
		write(t, dir, "round", fmt.Sprint(round))
		commit(t, dir, "another")
		git(t, dir, "repack", "-q", "-a", "-d", "-f", "--window=50")
		c, err := r.Commit(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		e, err := c.Tree.Lookup(t.Context(), "large")
		if err != nil {
			t.Fatal(err)
		}
		if _, size, err := c.Tree.Objects.Blob(t.Context(), e.ID); err != nil || size != int64(len(content)) {
			t.Fatalf("round %d: %d bytes, %v", round, size, err)
		}
		got, err := c.Tree.ReadFile(t.Context(), "small")
		if err != nil || string(got) != small {
			t.Fatalf("round %d: %d bytes, %v", round, len(got), err)
		}
	}
}

// TestClosingALargeBlobEarlyLeavesNothing counts what the process holds.
func TestClosingALargeBlobEarlyLeavesNothing(t *testing.T) {
	dir := newRepo(t)
	var b bytes.Buffer
	for i := 0; b.Len() <= MaxFile; i++ {
		fmt.Fprintf(&b, "%d\n", i)
	}
	write(t, dir, "a", b.String()+"a")
	write(t, dir, "b", b.String()+"bb")
	commit(t, dir, "first")
	for _, packed := range []bool{false, true} {
		if packed {
			git(t, dir, "gc", "-q")
		}
		r := open(t, dir)
		c, err := r.Commit(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		entries, err := c.Tree.ReadDir(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		before := runtime.NumGoroutine()
		for range 16 {
			for _, e := range entries {
				blob, _, err := c.Tree.Objects.Blob(t.Context(), e.ID)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(blob, make([]byte, 10)); err != nil {
					t.Fatal(err)
				}
				if err := blob.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if after := runtime.NumGoroutine(); after > before+8 {
			t.Errorf("packed %v: %d goroutines, %d before", packed, after, before)
		}
		if files, err := os.ReadDir("/proc/self/fd"); err == nil && len(files) > 100 {
			t.Errorf("%d open files", len(files))
		}
	}
}

// TestDamagedIndexesDoNotPanic has the packs' indexes searched for an
// abbreviated ID too.
func TestDamagedIndexesDoNotPanic(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	id := commit(t, dir, "first")
	git(t, dir, "gc", "-q", "--prune=now")
	names, err := filepath.Glob(filepath.Join(dir, ".git", "objects", "pack", "*.idx"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	whole, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(names[0], 0o644); err != nil {
		t.Fatal(err)
	}
	for at := range whole {
		broken := append([]byte(nil), whole...)
		broken[at] ^= 0xff
		if at%5 == 0 {
			broken = whole[:at]
		}
		if err := os.WriteFile(names[0], broken, 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := open(t, dir).Commit(t.Context(), id[:7])
		if err == nil && string(c.ID) != id || err != nil && !errors.Is(err, ErrUnknownRevision) && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrMalformed) {
			t.Errorf("at %d: %s, %v", at, c.ID, err)
		}
	}
}

// TestParsersTakeNoMoreMemoryThanTheirInput is not parallel: it counts what the
// process allocates.
func TestParsersTakeNoMoreMemoryThanTheirInput(t *testing.T) {
	id := strings.Repeat("ab", 20)
	inputs := map[string]struct {
		raw   []byte
		parse func([]byte)
	}{
		"spaces":  {bytes.Repeat([]byte{' '}, 4<<20), func(raw []byte) { ParseTree(raw, 20) }},
		"parents": {[]byte("tree " + id + "\n" + strings.Repeat("parent "+id+"\n", 4000) + "\n"), func(raw []byte) { parseCommit(raw) }},
	}
	for name, in := range inputs {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		in.parse(in.raw)
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > uint64(16*len(in.raw)) {
			t.Errorf("%s: %d bytes are allocated for %d", name, got, len(in.raw))
		}
	}
}
