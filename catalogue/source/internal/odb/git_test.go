package odb

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// git runs the real program, untouched by the configuration of whoever tests.
func git(t testing.TB, dir, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=maintenance.auto", "GIT_CONFIG_VALUE_0=false",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_COMMITTER_DATE=1700000000 +0000")
	cmd.Stdin = strings.NewReader(stdin)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, errOut.String())
	}
	return string(out)
}

// newBare makes a repository of many objects that are like each other.
func newBare(t testing.TB, r *rand.Rand, format Format) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "", "init", "-q", "--bare", "--object-format="+formatNames[format])
	content := make([]string, 40)
	var stream strings.Builder
	for i := range 30 {
		fmt.Fprintf(&stream, "commit refs/heads/main\ncommitter a <a@example.com> %d +0000\ndata 2\n%02d", 1700000000+i, i%100)
		for range 4 {
			n := r.IntN(len(content))
			content[n] += strings.Repeat(fmt.Sprintf("%d %d\n", n, r.IntN(1000)), r.IntN(60))
			fmt.Fprintf(&stream, "M 100644 inline %d/%d/%d\ndata %d\n%s\n", n%3, n%5, n, len(content[n]), content[n])
		}
	}
	large := bytes.Repeat([]byte("large "), largeObject/6+100)
	for i := range 2 {
		large[i] = 9
		fmt.Fprintf(&stream, "commit refs/heads/large\ncommitter a <a@example.com> 1700000000 +0000\ndata 1\nlM 100644 inline l%d\ndata %d\n%s\n", i, len(large), large)
	}
	fmt.Fprintf(&stream, "commit refs/heads/empty\ncommitter a <a@example.com> 1700000000 +0000\ndata 0\nM 100644 inline e\ndata 0\n\n")
	fmt.Fprintf(&stream, "tag v1\nfrom refs/heads/main\ntagger a <a@example.com> 1700000000 +0000\ndata 2\nv1\n")
	git(t, dir, stream.String(), "fast-import", "--quiet")
	return dir
}

var formatNames = map[Format]string{SHA1: "sha1", SHA256: "sha256"}

// unpack makes all objects of a repository loose.
func unpack(t testing.TB, dir string) {
	t.Helper()
	packs, err := filepath.Glob(filepath.Join(dir, "objects/pack/*.pack"))
	if err != nil || len(packs) == 0 {
		t.Fatal(packs, err)
	}
	for _, p := range packs {
		content, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{p, strings.TrimSuffix(p, ".pack") + ".idx"} {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
		git(t, dir, string(content), "unpack-objects", "-q")
	}
}

func TestAllObjectsAreReadAsGitReadsThem(t *testing.T) {
	t.Parallel()
	layouts := map[string]func(t *testing.T, dir string){
		"loose":        func(t *testing.T, dir string) { unpack(t, dir) },
		"as imported":  func(*testing.T, string) {},
		"one pack":     func(t *testing.T, dir string) { git(t, dir, "", "repack", "-q", "-a", "-d", "-f", "--depth=50") },
		"no offsets":   func(t *testing.T, dir string) { repack(t, dir, "repack.useDeltaBaseOffset=false") },
		"old index":    func(t *testing.T, dir string) { repack(t, dir, "pack.indexVersion=1") },
		"far offsets":  farOffsets,
		"many packs":   manyPacks,
		"multi index":  func(t *testing.T, dir string) { manyPacks(t, dir); git(t, dir, "", "multi-pack-index", "write") },
		"multi of one": func(t *testing.T, dir string) { git(t, dir, "", "multi-pack-index", "write"); manyPacks(t, dir) },
	}
	for name, layout := range layouts {
		for format, formatName := range formatNames {
			if name == "old index" && format == SHA256 {
				continue // there is none
			}
			t.Run(name+" "+formatName, func(t *testing.T) {
				t.Parallel()
				dir := newBare(t, rand.New(rand.NewPCG(1, 2)), format)
				layout(t, dir)
				holdAgainstGit(t, dir, New([]string{filepath.Join(dir, "objects")}, format))
			})
		}
	}
}

func repack(t *testing.T, dir, config string) {
	git(t, dir, "", "-c", config, "repack", "-q", "-a", "-d", "-f")
}

// farOffsets has most offsets as if the pack had more than 2 GiB.
func farOffsets(t *testing.T, dir string) {
	git(t, dir, "", "repack", "-q", "-a", "-d", "-f")
	packs, err := filepath.Glob(filepath.Join(dir, "objects/pack/*.pack"))
	if err != nil || len(packs) != 1 {
		t.Fatal(packs, err)
	}
	index := strings.TrimSuffix(packs[0], ".pack") + ".idx"
	if err := os.Remove(index); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "", "index-pack", "--index-version=2,0x100", packs[0])
}

// manyPacks makes more of them than are kept open.
func manyPacks(t *testing.T, dir string) {
	unpack(t, dir)
	ids := strings.Fields(git(t, dir, "", "cat-file", "--batch-all-objects", "--batch-check=%(objectname)"))
	n := len(ids)/(maxFiles+20) + 1
	for len(ids) > 0 {
		some := ids[:min(n, len(ids))]
		ids = ids[len(some):]
		git(t, dir, strings.Join(some, "\n")+"\n", "pack-objects", "-q", filepath.Join(dir, "objects/pack/pack"))
	}
	git(t, dir, "", "prune-packed", "-q")
}

func holdAgainstGit(t *testing.T, dir string, db *DB) {
	t.Helper()
	all := KindsOf(Commit, Tree, Blob, Tag)
	out := git(t, dir, "", "cat-file", "--batch-all-objects", "--batch")
	seen := map[string]int{}
	for len(out) > 0 {
		var name, kind string
		var size int
		line, rest, _ := strings.Cut(out, "\n")
		if _, err := fmt.Sscan(line, &name, &kind, &size); err != nil {
			t.Fatal(line, err)
		}
		content := rest[:size]
		out = rest[size+1:]
		seen[kind]++
		id, ok := db.Format().ParseID(name)
		if !ok || db.Format().Text(id) != name {
			t.Fatal(name)
		}
		o, err := db.Read(t.Context(), id, all, 1<<30, make([]byte, 10, 300))
		if err != nil || o.Kind.String() != kind || o.Size != int64(size) || string(o.Data) != content {
			t.Fatalf("%s: %s of %d bytes, %d read: %v", line, o.Kind, o.Size, len(o.Data), err)
		}
		if o, err = db.Read(t.Context(), id, all, int64(size)-1, nil); err != nil || o.Data != nil || o.Kind.String() != kind || o.Size != int64(size) {
			t.Fatalf("%s: within a limit: %+v, %v", line, o, err)
		}
		o, stream, err := db.Open(t.Context(), id)
		if err != nil || o.Kind.String() != kind || o.Size != int64(size) {
			t.Fatalf("%s: %+v, %v", line, o, err)
		}
		got, err := io.ReadAll(stream)
		stream.Close()
		if err != nil || string(got) != content {
			t.Fatalf("%s: %d bytes, %v", line, len(got), err)
		}
		found, err := db.WithPrefix(name[:7])
		if err != nil || !contains(found, id) {
			t.Fatalf("%s: %v, %v", line, found, err)
		}
	}
	for _, kind := range []string{"commit", "tree", "blob", "tag"} {
		if seen[kind] == 0 {
			t.Errorf("git had no %s", kind)
		}
	}
	if n := len(db.files.open); n > maxFiles {
		t.Errorf("%d files are open", n)
	}
}

func contains(ids []ID, id ID) bool {
	for i := range ids {
		if ids[i] == id {
			return true
		}
	}
	return false
}
