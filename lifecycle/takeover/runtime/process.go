package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/internal/gocommand"
	"github.com/pharos-dev/pharos/internal/processgroup"
)

// lateOutput is how long the output of a process that has ended is read still: what
// left its process group may hold it open for ever.
const lateOutput = time.Second

// process is one that was started, with all that it has started itself.
type process struct {
	group *processgroup.Group
	pid   int
	cmd   *exec.Cmd
	kill  context.CancelFunc
	begun time.Time
	ended chan struct{} // closed when it has
	err   error         // how; read after that
}

// start starts a process whose output goes to out.
func (s Spec) start(command []string, out *lines) (*process, error) {
	program, err := s.find(command[0])
	if err != nil {
		return nil, err
	}
	// It ends by being asked, or with this process, and not with a context.
	ctx, kill := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, command[1:]...)
	cmd.Args[0] = command[0]
	cmd.Dir, cmd.Env = s.Dir, append([]string{}, s.Env...)
	r, w, err := os.Pipe()
	if err != nil {
		kill()
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = w, w
	group, err := processgroup.Start(cmd)
	_ = w.Close()
	if err != nil {
		kill()
		_ = r.Close()
		return nil, fmt.Errorf("start %q: %w", command[0], err)
	}
	p := &process{group: group, pid: cmd.Process.Pid, cmd: cmd, kill: kill, begun: time.Now(), ended: make(chan struct{})}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		out.copy(r)
	}()
	go func() {
		p.err = group.Wait()
		kill()
		_ = r.SetReadDeadline(time.Now().Add(lateOutput))
		<-copied
		_ = r.Close()
		close(p.ended)
	}()
	return p, nil
}

// stop asks the process to end, and ends it when the grace is over. It says whether it
// had to.
func (p *process) stop(grace time.Duration) (killed bool) {
	select {
	case <-p.ended:
		return false // its number may be somebody else's
	default:
	}
	_ = p.group.Signal(terminate)
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-p.ended:
		return false
	case <-late.C:
	}
	p.kill()
	<-p.ended
	return true
}

// failure says how a process ended that was not asked to.
func (p *process) failure() string {
	if p.err == nil {
		return "the process ended by itself (exit status 0)"
	}
	return fmt.Sprintf("the process ended by itself (%v)", p.err)
}

// find finds a program as a shell would in the process's folder and environment.
func (s Spec) find(name string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) || strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(s.Dir, name)
		}
		return name, nil
	}
	env := gocommand.NewEnvironment(s.Env)
	for _, dir := range filepath.SplitList(env["PATH"]) {
		if !filepath.IsAbs(dir) {
			continue
		}
		place := filepath.Join(dir, name)
		if goruntime.GOOS == "windows" && filepath.Ext(place) == "" {
			place += ".exe"
		}
		if info, err := os.Stat(place); err == nil && info.Mode().IsRegular() && (goruntime.GOOS == "windows" || info.Mode()&0o111 != 0) {
			return place, nil
		}
	}
	return "", fmt.Errorf("start %q: %w: it is in no folder of the PATH that the process gets: install it, or allow PATH in run.env or run.set", name, errors.Join(exec.ErrNotFound, fs.ErrNotExist))
}
