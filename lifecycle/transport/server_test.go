package transport_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/catalogue/source/worktree"
	"github.com/pharos-dev/pharos/lifecycle/transport"
)

// server is git's own smart HTTP server for one repository, /repo.git.
type server struct {
	t    *testing.T
	dir  string // the repository
	url  string
	user string // "user:password" that it asks for, if not empty

	mu     sync.Mutex
	pushes []int // how many objects each pack had that was sent
}

func newServer(t *testing.T, format string) *server {
	t.Helper()
	core := strings.TrimSpace(git(t, ".", "--exec-path"))
	root := t.TempDir()
	s := &server{t: t, dir: filepath.Join(root, "repo.git")}
	git(t, root, "init", "-q", "--bare", "--object-format="+format, s.dir)
	git(t, s.dir, "config", "http.receivepack", "true")
	git(t, s.dir, "config", "receive.fsckObjects", "true")
	backend := &cgi.Handler{
		Path: filepath.Join(core, "git-http-backend"),
		Env:  append([]string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"}, testEnv()...),
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if s.user != "" && s.user != user+":"+password {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client is gone
		}
		// CGI knows no chunked bodies.
		r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/git-receive-pack") {
			s.count(body)
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	s.url = web.URL + "/repo.git"
	return s
}

// count reads how many objects a pack announces: "PACK", a version and a number. A
// probe, with which git finds out whether it has to log in, has none.
func (s *server) count(body []byte) {
	if _, pack, found := bytes.Cut(body, []byte("PACK\x00\x00\x00\x02")); found {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.pushes = append(s.pushes, int(binary.BigEndian.Uint32(pack)))
	}
}

// sent returns how many objects were sent since the last call, in how many packs.
func (s *server) sent() (objects, packs int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.pushes {
		objects += n
	}
	packs = len(s.pushes)
	s.pushes = nil
	return objects, packs
}

// holds fails the test if the server does not hold the inputs as they are said to be.
func (s *server) holds(in transport.Inputs) {
	s.t.Helper()
	if got := git(s.t, s.dir, "rev-parse", "refs/pharos/inputs/"+string(in.Tree)); got != string(in.Commit) {
		s.t.Errorf("the reference is %s, want %s", got, in.Commit)
	}
	if got := git(s.t, s.dir, "rev-parse", string(in.Commit)+"^{tree}"); got != string(in.Tree) {
		s.t.Errorf("the commit's tree is %s, want %s", got, in.Tree)
	}
	git(s.t, s.dir, "fsck", "--strict", "--no-dangling", string(in.Commit))
}

// testEnv has git untouched by the configuration of whoever tests.
func testEnv(extra ...string) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") && !strings.HasPrefix(v, "HOME=") && !strings.HasPrefix(v, "XDG_") && !strings.HasPrefix(strings.ToLower(v), "http") {
			env = append(env, v)
		}
	}
	return append(append(env, "GIT_CONFIG_NOSYSTEM=1", "HOME="+os.DevNull,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_COMMITTER_DATE=1700000000 +0000"), extra...)
}

func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, testEnv()
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		errors.As(err, &exit)
		t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, exit.Stderr)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// checkout is a repository with a commit of files in folders.
func checkout(t *testing.T, format string) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main", "--object-format="+format)
	for _, name := range []string{"api/main.go", "api/deep/er/x.go", "api/deep/y.go", "libs/a.go", "libs/b.go", "README.md", "go.mod"} {
		write(t, dir, name, strings.Repeat("this is "+name+"\n", 100))
	}
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "a commit")
	return dir
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// pruned is what patterns leave of the working directory, edited or not.
func pruned(t *testing.T, dir string, patterns ...string) source.Tree {
	t.Helper()
	tree, err := worktree.Snapshot(t.Context(), worktree.Config{Dir: dir, Env: testEnv()})
	if err != nil {
		t.Fatal(err)
	}
	if patterns == nil {
		return tree
	}
	p, err := catalogue.ParsePatterns(patterns)
	if err != nil {
		t.Fatal(err)
	}
	if tree, _, err = catalogue.Prune(t.Context(), tree, p); err != nil {
		t.Fatal(err)
	}
	return tree
}

func remote(t *testing.T, c transport.Config) *transport.Remote {
	t.Helper()
	if c.Env == nil {
		c.Env = testEnv()
	}
	r, err := transport.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func push(t *testing.T, r *transport.Remote, tree source.Tree) transport.Inputs {
	t.Helper()
	in, err := r.PushInputs(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	return in
}
