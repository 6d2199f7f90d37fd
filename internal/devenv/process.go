package devenv

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// stopTimeout is how long a process may take to end before it is killed.
const stopTimeout = 30 * time.Second

// readyLine is the line of JSON that the process prints once it is ready.
type readyLine struct {
	Server     string `json:"server"`
	Kubeconfig string `json:"kubeconfig"`
	Context    string `json:"context"`
	AuditLog   string `json:"auditLog"`
}

// process is one run of the cluster's program.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	ready readyLine
	// exited is closed once the process has ended and err is set.
	exited chan struct{}
	err    error
}

// start starts the process and waits until it is ready. When it fails, nothing of the process is left.
func (l *launch) start(ctx context.Context) (*process, error) {
	args := []string{"--state", l.stateDir, "--end-with-stdin", "--sweep", fmt.Sprintf("--hollow-node=%t", !l.noNode)}
	if l.throwAway {
		args = append(args, "--remove-state")
	}
	// Not bound to ctx, which ends with the start.
	cmd := exec.Command(l.binary, args...)
	ownProcessGroup(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, &StartError{Err: err}
	}
	line := &firstLine{got: make(chan []byte, 1)}
	stderr := &tailBuffer{}
	cmd.Stdout, cmd.Stderr = line, stderr
	if err := cmd.Start(); err != nil {
		return nil, &StartError{Err: err}
	}
	p := &process{cmd: cmd, stdin: stdin, exited: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
	}()

	timeout := time.NewTimer(l.readyTimeout)
	defer timeout.Stop()
	select {
	case b := <-line.got:
		if err = json.Unmarshal(b, &p.ready); err == nil {
			return p, nil
		}
	case <-p.exited:
		err = fmt.Errorf("it ended before it was ready: %w", exitError(p.err))
	case <-timeout.C:
		err = fmt.Errorf("it was not ready within %s", l.readyTimeout)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	p.kill()
	failed := &StartError{Err: err, Log: l.logTail(stderr.String())}
	if err := l.cleanUp(); err != nil {
		return nil, errors.Join(failed, err)
	}
	return nil, failed
}

func exitError(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// kill ends the process at once and waits until it is gone.
func (p *process) kill() {
	// It fails only if the process has ended already.
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// stop lets the process end by itself, as it does when its parent dies, and waits until it is gone.
func (p *process) stop() error {
	if err := p.stdin.Close(); err != nil {
		p.kill()
		return nil
	}
	return p.wait(stopTimeout)
}

// stopKeepingState is stop, but a throw-away state folder stays for the next start.
func (p *process) stopKeepingState() error {
	if _, err := io.WriteString(p.stdin, "keep\n"); err != nil {
		p.kill()
		return nil
	}
	return p.wait(stopTimeout)
}

func (p *process) wait(timeout time.Duration) error {
	t := time.NewTimer(timeout)
	defer t.Stop()
	select {
	case <-p.exited:
		return p.err
	case <-t.C:
		p.kill()
		return fmt.Errorf("stop the development cluster: it did not end within %s and was killed", timeout)
	}
}

// logTail is the end of the process' log file and of what it printed.
func (l *launch) logTail(stderr string) string {
	var parts []string
	if tail, err := tailOfFile(filepath.Join(l.stateDir, "devcluster.log"), tailSize); err == nil {
		parts = append(parts, tail)
	}
	parts = append(parts, stderr)
	return strings.TrimSpace(strings.Join(parts, "\n"))
}

// firstLine is a writer that hands on the first line it gets and drops the rest.
type firstLine struct {
	got  chan []byte
	buf  bytes.Buffer
	done bool
}

func (w *firstLine) Write(b []byte) (int, error) {
	if w.done {
		return len(b), nil
	}
	w.buf.Write(b)
	if line, _, ok := bytes.Cut(w.buf.Bytes(), []byte("\n")); ok {
		w.done = true
		w.got <- line
	}
	return len(b), nil
}

// tailBuffer is a writer that keeps the end of what it gets.
type tailBuffer struct {
	mu  sync.Mutex
	buf []byte
}

func (w *tailBuffer) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(w.buf, b...)
	if extra := len(w.buf) - tailSize; extra > 0 {
		w.buf = append(w.buf[:0], w.buf[extra:]...)
	}
	return len(b), nil
}

func (w *tailBuffer) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.buf)
}
