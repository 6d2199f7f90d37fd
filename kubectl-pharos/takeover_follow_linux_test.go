package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// follower is a command of which all that it prints is kept.
type follower struct {
	t    *testing.T
	cmd  *exec.Cmd
	read chan struct{} // closed when there is no more

	mu    sync.Mutex
	lines []string
	news  chan struct{} // closed when there is more
}

// follow starts the plugin, which is ended with the test.
func (s *takeoverTest) follow(args ...string) *follower {
	s.t.Helper()
	f := &follower{t: s.t, cmd: exec.Command(program, args...), read: make(chan struct{}), news: make(chan struct{})}
	f.cmd.Dir, f.cmd.Env = s.dir, append(os.Environ(), s.env...)
	out, in, err := os.Pipe()
	if err != nil {
		s.t.Fatal(err)
	}
	f.cmd.Stdout, f.cmd.Stderr = in, in
	err = f.cmd.Start()
	in.Close()
	if err != nil {
		s.t.Fatal(err)
	}
	go func() {
		defer close(f.read)
		defer out.Close()
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 8<<20)
		for lines.Scan() {
			f.mu.Lock()
			f.lines = append(f.lines, lines.Text())
			close(f.news)
			f.news = make(chan struct{})
			f.mu.Unlock()
		}
	}()
	s.t.Cleanup(func() {
		_ = f.cmd.Process.Kill()
		_ = f.cmd.Wait()
	})
	return f
}

// await returns the first line that has this, when there is one.
func (f *follower) await(part string) string {
	f.t.Helper()
	for at, ended := 0, false; ; {
		f.mu.Lock()
		lines, news := f.lines[at:], f.news
		at = len(f.lines)
		f.mu.Unlock()
		for _, line := range lines {
			if strings.Contains(line, part) {
				return line
			}
		}
		if ended {
			f.t.Fatalf("%q ends without a line that has %q:\n%s", f.cmd.Args, part, f.text())
		}
		select {
		case <-news:
		case <-f.read:
			ended = true
		case <-f.t.Context().Done():
			f.t.Fatalf("%q has no line that has %q:\n%s", f.cmd.Args, part, f.text())
		}
	}
}

// text is what was printed so far.
func (f *follower) text() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.lines, "\n")
}

// end waits until the command ends by itself, and returns its exit code.
func (f *follower) end() int {
	f.t.Helper()
	<-f.read
	_ = f.cmd.Wait()
	return f.cmd.ProcessState.ExitCode()
}
