package argocd

import (
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"time"
)

// stopTimeout is how long a program may take to end before it is killed.
const stopTimeout = 10 * time.Second

// process is one run of a program, which ends with this process.
type process struct {
	cmd *exec.Cmd
	// ending is set when it is to end.
	ending atomic.Bool
	// exited is closed once it has ended and err is set.
	exited chan struct{}
	err    error
}

// startProcess starts a program. The log is closed at its end.
func startProcess(path string, args, env []string, log *os.File) (*process, error) {
	p := &process{cmd: exec.Command(path, args...), exited: make(chan struct{})}
	p.cmd.Args[0] = path
	p.cmd.Env = env
	p.cmd.Stdout, p.cmd.Stderr = log, log
	endWithUs(p.cmd)
	started := make(chan error)
	go func() {
		defer log.Close()
		// It is killed when the thread ends that has started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
			close(p.exited)
		}
	}()
	return p, <-started
}

// stop lets the program end and waits until it is gone.
func (p *process) stop() {
	p.ending.Store(true)
	timeout := time.NewTimer(stopTimeout)
	defer timeout.Stop()
	// One that is paused gets no other signal; and these fail only if it has ended already.
	_ = p.resume()
	_ = terminate(p.cmd.Process)
	select {
	case <-p.exited:
	case <-timeout.C:
		p.kill()
	}
}

// kill ends the program at once and waits until it is gone.
func (p *process) kill() {
	p.ending.Store(true)
	// It fails only if it has ended already.
	_ = p.cmd.Process.Kill()
	<-p.exited
}
