package gitserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// repositoryPath matches requests below a repository. No element of its name begins with a dot.
var repositoryPath = regexp.MustCompile(`^/((?:[A-Za-z0-9_-][A-Za-z0-9._-]*/)*[A-Za-z0-9_-][A-Za-z0-9._-]*\.git)(/.*)$`)

// Server serves the repositories below a folder. It may be used by several goroutines at once.
type Server struct {
	dir     string
	git     string
	backend cgi.Handler
	// making orders the making of repositories.
	making sync.Mutex
}

var _ http.Handler = (*Server)(nil)

// New returns a server of the repositories below dir. It fails where git or its git-http-backend is not installed.
func New(dir string) (*Server, error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("serve Git: %w", err)
	}
	parts, err := exec.Command(git, "--exec-path").Output()
	if err != nil {
		return nil, fmt.Errorf("serve Git: git --exec-path: %w", err)
	}
	backend := filepath.Join(strings.TrimSpace(string(parts)), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		return nil, fmt.Errorf("serve Git: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("serve Git: %w", err)
	}
	return &Server{
		dir: dir,
		git: git,
		backend: cgi.Handler{
			Path: backend,
			Dir:  dir,
			Env:  append([]string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "PATH=/usr/bin:/bin"}, ownConfig...),
			// What git complains of is in its answer.
			Stderr: io.Discard,
		},
	}, nil
}

// ownConfig keeps the machine's and the user's configuration out.
var ownConfig = []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	match := repositoryPath.FindStringSubmatch(r.URL.Path)
	if match == nil {
		http.NotFound(w, r)
		return
	}
	repository, rest := match[1], match[2]
	if rest == "/info/refs" && r.URL.Query().Get("service") == "git-receive-pack" {
		if err := s.make(r.Context(), repository); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	done, err := spool(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	defer done()
	s.backend.ServeHTTP(w, r)
}

// make makes a repository where there is none.
func (s *Server) make(ctx context.Context, name string) error {
	s.making.Lock()
	defer s.making.Unlock()
	path := filepath.Join(s.dir, filepath.FromSlash(name))
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make repository %s: %w", name, err)
	}
	// Elsewhere at first, so that it is there entirely or not at all.
	temp, err := os.MkdirTemp(s.dir, ".new-")
	if err != nil {
		return fmt.Errorf("make repository %s: %w", name, err)
	}
	defer os.RemoveAll(temp)
	for _, args := range [][]string{
		{"init", "--quiet", "--bare", "--initial-branch=main", temp},
		{"-C", temp, "config", "http.receivepack", "true"},
	} {
		cmd := exec.CommandContext(ctx, s.git, args...)
		cmd.Env = append(os.Environ(), ownConfig...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("make repository %s: git %s: %w: %s", name, args[0], err, strings.TrimSpace(string(out)))
		}
	}
	if err := os.Rename(temp, path); err != nil {
		return fmt.Errorf("make repository %s: %w", name, err)
	}
	return nil
}

// spool gives a request a length, without which a CGI program cannot read it: git sends a large pack in chunks.
func spool(r *http.Request) (done func(), err error) {
	if len(r.TransferEncoding) == 0 {
		return func() {}, nil
	}
	f, err := os.CreateTemp("", "pharos-git-")
	if err != nil {
		return nil, err
	}
	done = func() {
		f.Close()
		os.Remove(f.Name())
	}
	n, err := io.Copy(f, r.Body)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		done()
		return nil, fmt.Errorf("read the request: %w", err)
	}
	r.Body, r.ContentLength, r.TransferEncoding = f, n, nil
	return done, nil
}
