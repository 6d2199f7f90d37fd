package source

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestRandomRevisionsAreGitsOrRefused makes revisions from pieces that mean
// something, alone or beside others. Git is asked for all of them at once.
func TestRandomRevisionsAreGitsOrRefused(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	write(t, dir, "f", "1")
	first := commit(t, dir, "first")
	commit(t, dir, "second")
	git(t, dir, "checkout", "-q", "-b", "side", first)
	commit(t, dir, "third")
	git(t, dir, "merge", "-q", "-m", "merge", "main")
	git(t, dir, "tag", "-a", "-m", "m", "v1", "main")
	git(t, dir, "tag", "-a", "-m", "m", "v1-again", "v1")
	git(t, dir, "tag", "a-tree", "main^{tree}")
	git(t, dir, "tag", "a-blob", "main:f")
	for _, branch := range []string{"a@b", "@b", "v1.2-4-gtopic", "é", "HEAD2", "a/HEAD", first[:10] + "x"} {
		git(t, dir, "branch", branch, "side~1")
	}
	git(t, dir, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
	git(t, dir, "symbolic-ref", "refs/heads/dangling", "refs/heads/absent")
	git(t, dir, "update-ref", "refs/remotes/origin/main", "main")
	git(t, dir, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
	git(t, dir, "update-ref", "refs/notes/commits", "main")
	git(t, dir, "pack-refs", "--all")
	git(t, dir, "branch", "-f", "a@b", "main") // loose again, before the packed one
	git(t, dir, "checkout", "-q", "--detach")

	bases := []string{"HEAD", "@", "main", "side", "v1", "v1-again", "a-tree", "a-blob", "a@b", "@b", "v1.2-4-gtopic", "é", "HEAD2",
		"a/HEAD", "alias", "dangling", "origin", "origin/HEAD", "remotes/origin/main", "heads/main", "tags/v1", "refs/tags/v1", "notes/commits",
		first, first[:8], first[:4], first[:10] + "x", "x-1-g" + first[:7], "absent", "", "refs", "heads", "ORIG_HEAD", "head"}
	suffixes := []string{"~", "^", "~0", "^0", "~1", "^1", "^2", "~2", "^3", "^{}", "^{commit}", "^{tree}", "^{tag}", "^{object}", "^{blob}", "^{/second}",
		"^@", "^!", "^-", "^-1", "^{", ":", ":f", ":./f", "..", "...", "..main", "~01", "^+1", "~-1", "{}", "@", "~~", " ", "/", ".", ".lock", "\\"}
	random := rand.New(rand.NewPCG(1, 2))
	revs := []string{}
	for _, b := range bases {
		for _, s := range suffixes {
			revs = append(revs, b+s)
		}
	}
	for range 2000 {
		rev := bases[random.IntN(len(bases))]
		for range 2 + random.IntN(3) {
			n := len(suffixes)
			if random.IntN(6) > 0 {
				n = 11 // those that name commits
			}
			rev += suffixes[random.IntN(n)]
		}
		revs = append(revs, rev)
	}
	answers := strings.Split(gitIn(t, dir, strings.Join(revs, "^0\n")+"^0\n", "cat-file", "--batch-check=%(objectname)"), "\n")
	if len(answers) != len(revs) {
		t.Fatalf("%d answers for %d revisions", len(answers), len(revs))
	}
	r := open(t, dir)
	read := 0
	for i, rev := range revs {
		if rev == "" {
			continue // HEAD for us
		}
		c, err := r.Commit(t.Context(), rev)
		switch known := isID(ID(answers[i])); {
		case err == nil && (!known || answers[i] != string(c.ID)):
			t.Errorf("%q is %s, git says %q", rev, c.ID, answers[i])
		case err == nil:
			read++
		case !errors.Is(err, ErrUnknownRevision):
			t.Errorf("%q: %v", rev, err)
		case known && !strings.ContainsAny(rev, ":{"): // the forms that are not read
			t.Errorf("%q: %v, git says %q", rev, err, answers[i])
		}
	}
	if read < 300 {
		t.Errorf("only %d of %d revisions were read", read, len(revs))
	}
}
