package catalogue

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/internal/sizetest"
)

// randomAttributes are lines of a .gitattributes in the words of randomPath.
func randomAttributes(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(4) {
		var segments []string
		for range 1 + r.IntN(3) {
			segments = append(segments, [...]string{"a", "b", "*", "**", "?b", "a*", "**b", "[ab]", "[!a]", "[[:alpha:]]", `\a`, "abc", "*.*"}[r.IntN(13)])
		}
		pattern := strings.Join(segments, "/")
		if r.IntN(4) == 0 {
			pattern = "/" + pattern
		}
		if r.IntN(6) == 0 {
			pattern = `"` + strings.NewReplacer(`\`, `\\`, "a", `\141`).Replace(pattern) + `"`
		}
		attributes := [...]string{"filter=lfs", "filter=lfs diff=lfs -text", "text\tfilter=lfs", "-filter", "text", "!filter"}[r.IntN(6)]
		fmt.Fprintf(&b, "%s %s\n", pattern, attributes)
	}
	return b.String()
}

// Every file that git sends through Git LFS is looked at, whatever the lines.
func TestLFSLinesCoverWhatGitFilters(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	repository := t.TempDir()
	git(t, repository, "", "init", "-q")
	type question struct{ dir, path string }
	var asked []question
	var input strings.Builder
	lines := map[string][]string{}
	for i := range sizetest.Of(1500, 20_000) {
		dir := fmt.Sprintf("case%d", i)
		content := randomAttributes(r)
		if err := os.Mkdir(filepath.Join(repository, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(repository, dir, attributesFile), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		lines[dir] = lfsLines([]byte(content))
		for range 6 {
			path := dir + "/" + randomPath(r)
			asked = append(asked, question{dir, path})
			input.WriteString(path + "\x00")
		}
	}
	answers := strings.Split(git(t, repository, input.String(), "check-attr", "-z", "--stdin", "filter"), "\x00")
	filtered, spared := 0, 0
	for i, answer := range slices.Collect(slices.Chunk(answers[:len(answers)-1], 3)) {
		q := asked[i]
		if answer[0] != q.path {
			t.Fatalf("git answers for %s, and %s was asked", answer[0], q.path)
		}
		var patterns []pattern
		for _, line := range lines[q.dir] {
			if p, ok := lfsPattern(q.dir, line); ok {
				patterns = append(patterns, p)
			}
		}
		looked := Patterns{patterns}.Match(q.path)
		switch {
		case answer[2] == "lfs" && !looked:
			t.Errorf("%s goes through Git LFS, and is not among %q", q.path, lines[q.dir])
		case answer[2] == "lfs":
			filtered++
		case !looked:
			spared++
		}
	}
	if filtered < len(asked)/20 || spared < len(asked)/20 {
		t.Errorf("of %d files, %d go through Git LFS and %d are spared: that tests little", len(asked), filtered, spared)
	}
}

func FuzzLFSLines(f *testing.F) {
	f.Add([]byte("*.bin filter=lfs diff=lfs merge=lfs -text\n[attr]big filter=lfs\n\"a\\040b\" big\n"), "a/b")
	f.Add([]byte("!a filter=lfs\n/ lfs\n# x\n** lfs"), "")
	f.Fuzz(func(t *testing.T, content []byte, dir string) {
		for _, line := range lfsLines(content) {
			p, ok := lfsPattern(dir, line)
			if !ok && !strings.HasSuffix(line, "/") {
				t.Errorf("%q has no pattern", line)
			}
			if ok && (p.exclude || len(p.segments) == 0) {
				t.Errorf("%q became %+v", line, p)
			}
		}
	})
}
