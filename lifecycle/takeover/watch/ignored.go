package watch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/internal/gocommand"
)

// ignored asks Git what it ignores. A process of git answers one question after the
// other, as long as no .gitignore changes. The zero value ignores nothing.
type ignored struct {
	ctx     context.Context
	program string
	root    string
	env     []string
	tracked map[string]bool // files that are ignored by name and tracked all the same, and their folders

	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	err *bytes.Buffer
}

// newIgnored returns the answers for a working tree, which are none if it is in no
// repository, or if there is no git.
func newIgnored(ctx context.Context, root string, env []string) (*ignored, error) {
	i := &ignored{ctx: ctx, root: root}
	if !inRepository(root) {
		return i, nil
	}
	e := gocommand.NewEnvironment(env)
	for name := range e {
		// They would point git at another repository, or change what a path means.
		if strings.HasPrefix(name, "GIT_") {
			delete(e, name)
		}
	}
	e.SetAll("GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "LC_ALL=C")
	i.program, i.env = find("git", e["PATH"]), e.List()
	return i, i.renew()
}

func inRepository(dir string) bool {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false
		}
		dir = parent
	}
}

// find finds a program in the absolute folders of a PATH; "" is none.
func find(name, list string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	for _, dir := range filepath.SplitList(list) {
		place := filepath.Join(dir, name)
		if info, err := os.Stat(place); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode()&0o111 != 0) {
			return place
		}
	}
	return ""
}

// renew forgets what a .gitignore may have changed.
func (i *ignored) renew() error {
	if i.program == "" {
		return nil
	}
	i.close()
	cmd := i.git("ls-files", "--cached", "--ignored", "--exclude-standard", "-z")
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if err != nil {
		return i.failed(err, errOut.String())
	}
	i.tracked = map[string]bool{}
	for name := range strings.SplitSeq(string(out), "\x00") {
		for ; name != "" && name != "." && !i.tracked[name]; name = path.Dir(name) {
			i.tracked[name] = true
		}
	}
	return nil
}

func (i *ignored) git(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(i.ctx, i.program, append([]string{"-c", "core.fsmonitor=", "-c", "core.hooksPath=" + os.DevNull}, args...)...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = i.root, i.env, time.Second
	return cmd
}

func (i *ignored) failed(err error, said string) error {
	if i.ctx.Err() != nil {
		return i.ctx.Err()
	}
	return fmt.Errorf("watch %s: ask git what it ignores: %w: %s", i.root, err, strings.TrimSpace(said))
}

// remove removes the names that Git ignores, but none that is known to count.
func (i *ignored) remove(names []string, known func(string) bool) ([]string, error) {
	if i.program == "" {
		return names, nil
	}
	var unsure []string
	for _, name := range names {
		if !known(name) && !i.tracked[name] {
			unsure = append(unsure, name)
		}
	}
	if len(unsure) == 0 {
		return names, nil
	}
	out, err := i.ask(unsure)
	if err != nil {
		// What it was asked about may have been replaced meanwhile, at which git gives
		// up.
		i.close()
		if out, err = i.ask(unsure); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return out[name] }), nil
}

func (i *ignored) ask(names []string) (map[string]bool, error) {
	if i.cmd == nil {
		if err := i.start(); err != nil {
			return nil, i.failed(err, "")
		}
	}
	var questions bytes.Buffer
	for _, name := range names {
		questions.WriteString("./" + name + "\x00") // a colon at the beginning would have a meaning
	}
	sent := make(chan error, 1)
	go func() { // git answers before it has read everything
		_, err := i.in.Write(questions.Bytes())
		sent <- err
	}()
	found := map[string]bool{}
	for _, name := range names {
		pattern, err := i.answer()
		if err != nil {
			i.close()
			<-sent
			return nil, i.failed(err, i.err.String())
		}
		found[name] = pattern != "" && !strings.HasPrefix(pattern, "!")
	}
	return found, <-sent
}

// answer reads the pattern that decides on a path: its source, line, itself, and the
// path, each ended by a zero byte.
func (i *ignored) answer() (pattern string, err error) {
	for field := range 4 {
		text, err := i.out.ReadString(0)
		if err != nil {
			return "", err
		}
		if field == 2 {
			pattern = strings.TrimSuffix(text, "\x00")
		}
	}
	return pattern, nil
}

func (i *ignored) start() error {
	cmd := i.git("check-ignore", "--no-index", "--stdin", "-z", "--verbose", "--non-matching")
	i.err = &bytes.Buffer{}
	cmd.Stderr = i.err
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return errors.Join(err, in.Close())
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	i.cmd, i.in, i.out = cmd, in, bufio.NewReader(out)
	return nil
}

// close ends the process. It would end with its input as well, and does with this
// process therefore.
func (i *ignored) close() {
	if i.cmd != nil {
		_ = i.in.Close()
		_ = i.cmd.Process.Kill()
		_ = i.cmd.Wait()
		i.cmd = nil
	}
}
