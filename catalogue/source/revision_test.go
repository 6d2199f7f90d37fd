package source

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestRevisionsAreThoseOfGit(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	for i := range 4 {
		commit(t, dir, fmt.Sprint(i))
	}
	git(t, dir, "branch", "one", "HEAD~1")
	git(t, dir, "branch", "dir/two", "HEAD~2")
	git(t, dir, "tag", "light", "HEAD~1")
	git(t, dir, "tag", "-a", "-m", "m", "annotated", "HEAD~2")
	git(t, dir, "tag", "-a", "-m", "m", "tag-of-tag", "annotated")
	git(t, dir, "tag", "one", "HEAD~3") // a tag goes before a branch
	parents := []string{}
	for i := range 3 {
		parents = append(parents, "-p", gitIn(t, dir, "", "commit-tree", "HEAD^{tree}", "-m", fmt.Sprint("parent ", i)))
	}
	octopus := gitIn(t, dir, "", append([]string{"commit-tree", "HEAD^{tree}", "-m", "octopus"}, parents...)...)
	git(t, dir, "branch", "octopus", octopus)
	hex := git(t, dir, "rev-parse", "--short=7", "HEAD~2")
	git(t, dir, "branch", hex, "HEAD") // a branch goes before an abbreviated ID
	git(t, dir, "update-ref", "refs/remotes/origin/main", "HEAD~1")
	git(t, dir, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
	git(t, dir, "fetch", "-q", ".", "dir/two")
	git(t, dir, "update-ref", "ORIG_HEAD", "HEAD~3")
	id := git(t, dir, "rev-parse", "HEAD~1")
	tag := git(t, dir, "rev-parse", "annotated")

	for _, packed := range []bool{false, true} {
		if packed {
			git(t, dir, "gc", "-q", "--prune=now")
		}
		r := open(t, dir)
		for _, rev := range []string{
			"", "HEAD", "@", "@~2", "HEAD~", "HEAD^", "HEAD~0", "HEAD^0", "HEAD~1^", "HEAD^^", "HEAD~3",
			"main", "heads/main", "refs/heads/main", "one", "heads/one", "dir/two", "dir/two~1",
			"light", "annotated", "annotated~1", "annotated^{}", "annotated^{commit}", "tag-of-tag", "tags/annotated",
			"octopus^", "octopus^2", "octopus^3", "octopus^3^{}", hex, "origin", "origin/main", "FETCH_HEAD", "ORIG_HEAD",
			id, strings.ToUpper(id), id[:12], id[:11], id[:7], tag, tag[:9], "anything-3-g" + id[:10],
		} {
			want := git(t, dir, "rev-parse", orHead(rev)+"^{commit}")
			c, err := r.Commit(t.Context(), rev)
			if err != nil || string(c.ID) != want {
				t.Errorf("packed %v: %q is %s, %v; git says %s", packed, rev, c.ID, err, want)
			}
		}
		for _, rev := range []string{
			"absent", "HEAD~4", "HEAD~99999999999999999999", "HEAD^2", "octopus^4", "octopus~2", "HEAD:f", "HEAD^{tree}", "HEAD^{/m}",
			":/m", "@{0}", "main@{upstream}", "main..one", "a b", "-h", "../config", "config", "^", "~", "HEAD~x", id[:3],
			strings.Repeat("0", 40), strings.Repeat("f", 39), git(t, dir, "rev-parse", "HEAD^{tree}"), "HEAD\n", "refs/heads/..",
		} {
			if c, err := r.Commit(t.Context(), rev); !errors.Is(err, ErrUnknownRevision) || !strings.Contains(err.Error(), fmt.Sprintf("%q", rev)) {
				t.Errorf("%q: %v, %v", rev, c, err)
			}
		}
	}
}

func orHead(rev string) string {
	if rev == "" {
		return "HEAD"
	}
	return rev
}

func TestAmbiguousAbbreviationsAreRefused(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	commit(t, dir, "first")
	// Commits are cheap to make until two IDs begin alike.
	var stream strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&stream, "commit refs/heads/many\ncommitter a <a@example.com> 1700000000 +0000\ndata <<.\n%d\n.\n\n", i)
	}
	gitIn(t, dir, stream.String(), "fast-import", "--quiet")
	seen := map[string]string{}
	for _, id := range strings.Fields(git(t, dir, "rev-list", "many")) {
		first, twice := seen[id[:4]]
		seen[id[:4]] = id
		if !twice {
			continue
		}
		_, err := open(t, dir).Commit(t.Context(), id[:4])
		if !errors.Is(err, ErrUnknownRevision) || !strings.Contains(err.Error(), "ambiguous") {
			t.Errorf("%s and %s: %v", first, id, err)
		}
		return
	}
	t.Fatal("no two of the commits begin alike: make more")
}

func TestUnbornBranchesAndCancelledContexts(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	r := open(t, dir)
	for _, rev := range []string{"", "HEAD", "@", "HEAD~2"} {
		if _, err := r.Commit(t.Context(), rev); !errors.Is(err, ErrUnborn) {
			t.Errorf("%q: %v", rev, err)
		}
	}
	if _, err := r.Commit(t.Context(), "main"); !errors.Is(err, ErrUnknownRevision) {
		t.Error(err)
	}
	want := commit(t, dir, "  first line \n\nmore")
	c, err := r.Commit(t.Context(), "")
	if err != nil || string(c.ID) != want || c.Subject != "first line" || len(c.Parents) != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Commit(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := r.Dirty(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
