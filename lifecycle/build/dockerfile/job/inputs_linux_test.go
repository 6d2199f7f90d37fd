package job

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// gitFor runs git, or a script that does, untouched by the configuration of whoever
// tests.
func gitFor(t *testing.T, cmd *exec.Cmd) (stderr string, err error) {
	t.Helper()
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") && !strings.HasPrefix(strings.ToLower(v), "http") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0", "HELPER=", "HOME="+os.DevNull,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	var said bytes.Buffer
	cmd.Stderr = &said
	err = cmd.Run()
	return said.String(), err
}

// stored is a repository in which refs/inputs names a commit of files, by their names.
type stored struct{ dir, commit, tree string }

func store(t *testing.T, files map[string]string) stored {
	t.Helper()
	s := stored{dir: t.TempDir()}
	git := func(stdin string, args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Stdin = s.dir, strings.NewReader(stdin)
		var out bytes.Buffer
		cmd.Stdout = &out
		if said, err := gitFor(t, cmd); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, said)
		}
		return strings.TrimSpace(out.String())
	}
	git("", "init", "-q", "--bare")
	var tree strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		tree.WriteString("100644 blob " + git(files[name], "hash-object", "-w", "--stdin") + "\t" + name + "\n")
	}
	s.tree = git(tree.String(), "mktree")
	s.commit = git("", "commit-tree", "-m", "x", s.tree)
	git("", "update-ref", "refs/inputs", s.commit)
	return s
}

// fetch runs the script of the container as in a pod that has its folders in dir; with
// a prefix, by that program.
func (s stored) fetch(t *testing.T, dir, address string, prefix ...string) outcome {
	t.Helper()
	args := append(prefix, "sh", "-c", strings.ReplaceAll(inputsScript, "/inputs", dir), "inputs", address, "refs/inputs", s.commit, s.tree, "sha1")
	cmd := exec.Command(args[0], args[1:]...)
	said, err := gitFor(t, cmd)
	exit, ok := errors.AsType[*exec.ExitError](err)
	if err == nil {
		return outcome{state: running}
	}
	if !ok {
		t.Fatal(err)
	}
	return inputsFailed(&corev1.ContainerStateTerminated{ExitCode: int32(exit.ExitCode()), Reason: "Error", Message: said})
}

// Names that Git refuses on other systems only are those of files.
func TestInputsAreWritten(t *testing.T) {
	t.Parallel()
	files := map[string]string{"git~1": "one", ".git.": "two", ".git\u200c": "three", "a\\b": "four", "plain": "five\r\n", ".gitattributes": "* text eol=lf\n"}
	s, dir := store(t, files), t.TempDir()
	if o := s.fetch(t, dir, s.dir); o.state != running {
		t.Fatalf("%+v", o)
	}
	for name, content := range files {
		if got, err := os.ReadFile(filepath.Join(dir, "tree", name)); err != nil || string(got) != content {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}

// Each step that fails is told from the others.
func TestInputsThatFail(t *testing.T) {
	t.Parallel()
	s := store(t, map[string]string{"a": "a"})
	refused := store(t, map[string]string{".GIT": "a"})
	noise := make([]byte, 1<<20)
	if _, err := rand.NewChaCha8([32]byte{}).Read(noise); err != nil {
		t.Fatal(err)
	}
	big := store(t, map[string]string{"big": string(noise)})
	zeros := store(t, map[string]string{"big": strings.Repeat("0", 1<<20)}) // its pack is small
	other := s
	other.commit = other.tree
	var followed bool
	second := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed = true }))
	first := httptest.NewServer(http.RedirectHandler(second.URL+"/repo.git/info/refs", http.StatusFound))
	defer first.Close()
	// A file system of its own, which nobody else sees and which goes with the script.
	small := func(dir string) []string {
		return []string{"unshare", "--user", "--map-root-user", "--mount", "sh", "-c", `mount -t tmpfs -o size=256k tmpfs "$0" && exec "$@"`, dir}
	}
	for name, tc := range map[string]struct {
		of             stored
		address        string
		small          bool
		reason, advice string
		unreachable    bool
	}{
		"no repository": {of: s, address: filepath.Join(s.dir, "none"), reason: "fetched from the Git server: ", advice: "pods can reach", unreachable: true},
		"another":       {of: other, address: s.dir, reason: "and not " + other.commit, advice: "same repository"},
		"redirected":    {of: s, address: first.URL + "/repo.git", reason: "error: 302", advice: "redirects to another address", unreachable: true},
		"a name":        {of: refused, address: refused.dir, reason: "error: invalid path '.GIT'", advice: "rename it"},
		"no room":       {of: big, address: big.dir, small: true, reason: "No space left on device", advice: "make room"},
		"no more room":  {of: zeros, address: zeros.dir, small: true, reason: "unable to write file big", advice: "disk is full"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var prefix []string
			if tc.small {
				prefix = small(dir)
			}
			o := tc.of.fetch(t, dir, tc.address, prefix...)
			if o.state != broken || !strings.Contains(o.reason, tc.reason) || !strings.Contains(o.advice, tc.advice) || o.unreachable != tc.unreachable {
				t.Errorf("%+v, want %q and %q", o, tc.reason, tc.advice)
			}
		})
	}
	second.Close() // it has no request under way
	if followed {
		t.Error("the redirect was followed")
	}
}
