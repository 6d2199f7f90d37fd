package gitserver_test

import (
	"bytes"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/internal/devcluster/internal/gitserver"
)

func serve(t *testing.T) string {
	t.Helper()
	s, err := gitserver.New(filepath.Join(t.TempDir(), "repositories"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL
}

// git runs git without the user's configuration and returns what it printed.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// repository makes one with a commit of a file of this size, which no compression makes smaller.
func repository(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "--quiet", "--initial-branch=main")
	content := make([]byte, size)
	if _, err := rand.Read(content); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), content, 0o644); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "add", "file")
	git(t, dir, "commit", "--quiet", "--message=one")
	return dir
}

func TestPushAndClone(t *testing.T) {
	t.Parallel()
	url := serve(t) + "/team/shop.git"
	// One byte more than git sends in one piece.
	for _, size := range []int{10, 1<<20 + 1} {
		dir := repository(t, size)
		git(t, dir, "push", "--quiet", "--force", url, "main", "main:refs/pharos/inputs/x")
		clone := filepath.Join(t.TempDir(), "clone")
		git(t, dir, "clone", "--quiet", url, clone)
		want, err := os.ReadFile(filepath.Join(dir, "file"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(clone, "file")); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: the clone differs: %v", size, err)
		}
		head := git(t, dir, "rev-parse", "HEAD")
		if refs := git(t, dir, "ls-remote", url, "refs/pharos/inputs/x"); !strings.HasPrefix(refs, head+"\t") {
			t.Errorf("the ref is %q, want %s", refs, head)
		}
	}
}

func TestWhatWasNotPushedIsNotFound(t *testing.T) {
	t.Parallel()
	url := serve(t)
	for _, path := range []string{
		"/other.git/info/refs?service=git-upload-pack",
		"/other/info/refs?service=git-receive-pack",
		"/.hidden.git/info/refs?service=git-receive-pack",
		"/a/../../b.git/info/refs?service=git-receive-pack",
		"/",
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s: got %s, want not found", path, answer.Status)
		}
	}
}
