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

// statusLine is a line of JSON that the process prints: the last one once it is ready.
type statusLine struct {
	// Waiting is set while the process waits for its turn, and Begun once it has it. Without a node there is no waiting.
	Waiting bool `json:"waiting"`
	Begun   bool `json:"begun"`

	Server     string `json:"server"`
	Kubeconfig string `json:"kubeconfig"`
	Context    string `json:"context"`
	AuditLog   string `json:"auditLog"`
	// Node is there if the cluster has a real node.
	Node *nodeReady `json:"node"`

	// ArgoCD is there if the process runs Argo CD, and no cluster.
	ArgoCD *argoCDReady `json:"argocd"`
	// Command is one that it has obeyed, or could not for the reason in Error.
	Command string `json:"command"`
	Error   string `json:"error"`
}

// process is one run of the cluster's program.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	// lines are what it prints.
	lines <-chan []byte
	ready statusLine
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
	for name, path := range l.nodePrograms {
		args = append(args, "--node-program", name+"="+path)
	}
	args = append(args, l.argoCD...)
	// Not bound to ctx, which ends with the start.
	cmd := exec.Command(l.binary, args...)
	ownProcessGroup(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, &StartError{What: l.what(), Err: err}
	}
	lines := &lineWriter{got: make(chan []byte, 4)}
	stderr := &tailBuffer{}
	cmd.Stdout, cmd.Stderr = lines, stderr
	if err := cmd.Start(); err != nil {
		return nil, &StartError{What: l.what(), Err: err}
	}
	p := &process{cmd: cmd, stdin: stdin, lines: lines.got, exited: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
	}()

	err = p.awaitReady(ctx, l)
	if err == nil {
		return p, nil
	}
	var left error
	if l.hasNode() || len(l.argoCD) > 0 {
		// Only in the orderly way it ends what runs beside it.
		left = p.stop()
	} else {
		p.kill()
	}
	failed := &StartError{What: l.what(), Err: err, Log: l.logTail(stderr.String())}
	if left = errors.Join(left, l.cleanUp()); left != nil {
		return nil, errors.Join(failed, left)
	}
	return nil, failed
}

// awaitReady reads the process' lines until the one that says that it is ready. The time that it waits for its turn
// does not count.
func (p *process) awaitReady(ctx context.Context, l *launch) error {
	timeout := time.NewTimer(l.readyTimeout)
	defer timeout.Stop()
	for {
		select {
		case b := <-p.lines:
			var line statusLine
			if err := json.Unmarshal(b, &line); err != nil {
				return err
			}
			switch {
			case line.Waiting:
				timeout.Stop()
				fmt.Fprintln(l.output, "waiting for another process that has the machine's node")
			case line.Begun:
				timeout.Reset(l.readyTimeout)
			default:
				p.ready = line
				return nil
			}
		case <-p.exited:
			return fmt.Errorf("it ended before it was ready: %w", exitError(p.err))
		case <-timeout.C:
			return fmt.Errorf("it was not ready within %s", l.readyTimeout)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
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
		return fmt.Errorf("stop process %d: it did not end within %s and was killed", p.cmd.Process.Pid, timeout)
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

// lineWriter is a writer that hands on the lines it gets, as long as somebody takes them.
type lineWriter struct {
	got chan []byte
	buf []byte
}

func (w *lineWriter) Write(b []byte) (int, error) {
	w.buf = append(w.buf, b...)
	for {
		line, rest, ok := bytes.Cut(w.buf, []byte("\n"))
		if !ok {
			return len(b), nil
		}
		select {
		case w.got <- bytes.Clone(line):
		default:
		}
		w.buf = rest
	}
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
