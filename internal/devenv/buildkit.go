package devenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// buildKitPrefix begins the name of every folder and control group of a BuildKit.
const buildKitPrefix = "pharos-buildkit-"

// BuildKitOptions say how a BuildKit is started. The zero value is one with the network of the machine.
type BuildKitOptions struct {
	// Output receives lines of progress, above all of a build that takes minutes. The default discards them.
	Output io.Writer
	// NoNetwork gives it a network of its own, in which there is nothing.
	NoNetwork bool
	// Size bounds its disk, in MiB; its state does not outlive it then. The default is the machine's disk.
	Size int
	// Args are further arguments of buildkitd, such as "--addr=tcp://127.0.0.1:1234".
	Args []string
}

// BuildKit is a buildkitd of this process: it runs as root, in process and mount namespaces of its own, so that all that
// it started ends with it. Its methods must not be called by several goroutines at once.
type BuildKit struct {
	options BuildKitOptions
	daemon  string
	ctl     string
	dir     string
	owner   io.Closer
	cmd     *exec.Cmd
	alive   io.WriteCloser
	exited  chan struct{}
	log     *tailBuffer
}

// BuildKitUnavailableError says why BuildKit cannot run on this machine.
type BuildKitUnavailableError struct {
	// Reasons are sentences without a full stop.
	Reasons []string
}

// Error implements error.
func (e *BuildKitUnavailableError) Error() string {
	return "BuildKit cannot run here: " + strings.Join(e.Reasons, "; ")
}

// buildKitReady is how long buildkitd may take to listen.
const buildKitReady = time.Minute

// StartBuildKit builds BuildKit where needed, starts it and waits until it listens. ctx bounds the start, not its life:
// that ends with [BuildKit.Stop] or with this process. What earlier processes left behind is removed first.
func StartBuildKit(ctx context.Context, o BuildKitOptions) (*BuildKit, error) {
	if err := BuildKitAvailable(); err != nil {
		return nil, err
	}
	daemon, ctl, err := BuildKitPrograms(ctx, o.Output)
	if err != nil {
		return nil, err
	}
	b := &BuildKit{options: o, daemon: daemon, ctl: ctl}
	if err := b.makeFolder(); err != nil {
		return nil, fmt.Errorf("start BuildKit: %w", err)
	}
	if err := b.Resume(ctx); err != nil {
		return nil, errors.Join(err, b.Stop())
	}
	return b, nil
}

// makeFolder removes folders that nobody holds, and makes one that this process holds.
func (b *BuildKit) makeFolder() error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	unlock, err := lockedfile.MutexAt(filepath.Join(cache, "pharos", "buildkit.lock")).Lock()
	if err != nil {
		return err
	}
	defer unlock()
	left, err := filepath.Glob(filepath.Join(os.TempDir(), buildKitPrefix+"*"))
	if err != nil {
		return err
	}
	for _, dir := range left {
		owner, err := own(dir)
		if err != nil {
			continue // it lives
		}
		if err := errors.Join(removeBuildKit(dir), owner.Close()); err != nil {
			return err
		}
	}
	if b.dir, err = os.MkdirTemp("", buildKitPrefix); err != nil {
		return err
	}
	b.owner, err = own(b.dir)
	return err
}

// Resume starts buildkitd again after [BuildKit.Kill], with the same state and address, and waits until it listens.
func (b *BuildKit) Resume(ctx context.Context) error {
	if err := os.WriteFile(b.path("buildkitd.toml"), []byte(b.config()), 0o600); err != nil {
		return fmt.Errorf("start BuildKit: %w", err)
	}
	if err := os.MkdirAll(b.path("root"), 0o700); err != nil {
		return fmt.Errorf("start BuildKit: %w", err)
	}
	// One that was killed leaves its socket.
	if err := os.Remove(b.path("buildkitd.sock")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("start BuildKit: %w", err)
	}
	b.log = &tailBuffer{}
	b.cmd = b.command()
	b.cmd.Stdout, b.cmd.Stderr = b.log, b.log
	// Nothing is written to it: it ends when this process does.
	var err error
	if b.alive, err = b.cmd.StdinPipe(); err != nil {
		return fmt.Errorf("start BuildKit: %w", err)
	}
	if err := b.cmd.Start(); err != nil {
		return fmt.Errorf("start BuildKit: %w", err)
	}
	b.exited = make(chan struct{})
	go func() {
		// How it ended does not matter: it is killed, or its log says why.
		_ = b.cmd.Wait()
		close(b.exited)
	}()
	return b.wait(ctx)
}

func (b *BuildKit) config() string {
	return fmt.Sprintf(`root = %q
[worker.oci]
enabled = true
snapshotter = "auto"
networkMode = "host"
defaultCgroupParent = "/%s"
[worker.containerd]
enabled = false
`, b.path("root"), filepath.Base(b.dir))
}

func (b *BuildKit) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, buildKitReady)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		var d net.Dialer
		if conn, err := d.DialContext(ctx, "unix", b.path("buildkitd.sock")); err == nil {
			return conn.Close()
		}
		select {
		case <-tick.C:
		case <-b.exited:
			return fmt.Errorf("start BuildKit: it ended before it was ready; the end of its log:\n%s", b.log)
		case <-ctx.Done():
			return fmt.Errorf("start BuildKit: %w; the end of its log:\n%s", context.Cause(ctx), b.log)
		}
	}
}

// Kill ends buildkitd and all that it started at once, and waits until it is gone. Its state stays.
func (b *BuildKit) Kill() {
	if b.cmd == nil || b.cmd.Process == nil {
		return
	}
	killAll(b.cmd.Process)
	<-b.exited
	b.cmd = nil
}

// Stop ends buildkitd and removes its state. Further calls do nothing.
func (b *BuildKit) Stop() error {
	b.Kill()
	if b.owner == nil {
		return nil
	}
	err := errors.Join(removeBuildKit(b.dir), b.owner.Close())
	b.owner = nil
	if err != nil {
		return fmt.Errorf("stop BuildKit: %w", err)
	}
	return nil
}

// Address is where it listens: unix:///PATH.
func (b *BuildKit) Address() string { return "unix://" + b.path("buildkitd.sock") }

// StateDir is the folder that holds its state.
func (b *BuildKit) StateDir() string { return b.dir }

// PID is the process that keeps it, which leads a process group of its own.
func (b *BuildKit) PID() int { return b.cmd.Process.Pid }

// Buildctl is the path of its client.
func (b *BuildKit) Buildctl() string { return b.ctl }

// Log is the end of what it logged.
func (b *BuildKit) Log() string { return b.log.String() }

func (b *BuildKit) path(name string) string { return filepath.Join(b.dir, name) }
