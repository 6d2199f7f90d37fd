//go:build linux

package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/pharos-dev/pharos/internal/devcluster/internal/cgroups"
	"github.com/pharos-dev/pharos/internal/devcluster/internal/state"
)

// cgroupName is the name of the cgroups of the machine's node.
const cgroupName = "pharos-devcluster-node"

// removeTimeout bounds the removal of what is left of a node.
const removeTimeout = 20 * time.Second

// Config says how a node is kept.
type Config struct {
	// Folder holds the cluster's state.
	Folder *state.Folder
	// Programs are the paths of [Programs].
	Programs map[string]string
	Log      *slog.Logger
	// Waiting is called if another process has the machine's node, and Begun when it is this one's turn.
	Waiting, Begun func()
	// Swept is called when nothing runs any more of an earlier node. If that one was killed, previous is its state
	// folder, which may be elsewhere.
	Swept func(previous string)
	// Ready is called once the cluster and its node are ready.
	Ready func(Ready)
	// Commands are what to do then, and Answered is called for each of them.
	Commands <-chan string
	Answered func(Answer)
}

// Keep runs a cluster with a real node until ctx ends or a part of it fails; nil is returned only in the first case. What
// an earlier one left is removed at first, and all that was made at the end, even after a failure.
func Keep(ctx context.Context, c Config) (err error) {
	if err := c.check(); err != nil {
		return err
	}
	lock, err := takeTurn(ctx, c.Waiting)
	if err != nil {
		if ctx.Err() != nil {
			// Asked to end while waiting.
			return nil
		}
		return err
	}
	defer func() { err = errors.Join(err, lock.release(err == nil)) }()
	c.Begun()

	hierarchies, err := cgroups.Find()
	if err != nil {
		return err
	}
	if err := removeCgroups(hierarchies); err != nil {
		return fmt.Errorf("remove what an earlier node left: %w", err)
	}
	previous, err := lock.swap(c.Folder.Path())
	if err != nil {
		return err
	}
	c.Swept(previous)

	if err := cgroups.Create(hierarchies, cgroupName); err != nil {
		return errors.Join(err, removeCgroups(hierarchies))
	}
	err = c.start(ctx)
	return errors.Join(err, removeCgroups(hierarchies))
}

func removeCgroups(hierarchies []cgroups.Hierarchy) error {
	// On a fresh context: removing comes after the end.
	ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
	defer cancel()
	return cgroups.Remove(ctx, hierarchies, cgroupName)
}

// hidden are folders of the machine that the node's programs write to by fixed names; each is replaced, for them only, by
// an empty one.
var hidden = []string{"/run", "/var/lib", "/var/log"}

func (c Config) check() error {
	used := []string{c.Folder.Path()}
	for _, name := range Programs {
		if c.Programs[name] == "" {
			return fmt.Errorf("no program %s is given for the node", name)
		}
		used = append(used, c.Programs[name])
	}
	for _, path := range used {
		for _, dir := range hidden {
			if strings.HasPrefix(path+"/", dir+"/") {
				return fmt.Errorf("%s is below %s, which a node replaces for itself: choose other folders for temporary files and caches", path, dir)
			}
		}
	}
	return nil
}

// start starts the node's first process and waits for its end.
func (c Config) start(ctx context.Context) error {
	sockets, files, err := c.listen()
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	told, err := json.Marshal(inside{State: c.Folder.Path(), Programs: c.Programs})
	if err != nil {
		return err
	}
	said, says, err := os.Pipe()
	if err != nil {
		return err
	}
	defer said.Close()

	// Not bound to ctx, which has its own way to end it.
	cmd := exec.Command(self, InitCommand, string(told))
	cmd.ExtraFiles = files
	cmd.Stdout, cmd.Stderr = says, os.Stderr
	// Its standard input ends with this process, should the signal of its death be lost.
	alive, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	defer alive.Close()
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET,
		Pdeathsig:  syscall.SIGKILL,
		// Not in the group of a terminal, whose Ctrl-C is for this process.
		Setpgid: true,
	}
	// The signal is sent when the thread ends that has started the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = cmd.Start()
	says.Close()
	if err != nil {
		return fmt.Errorf("start the node's first process: %w", err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	printed := make(chan struct{})
	go func() {
		defer close(printed)
		all := json.NewDecoder(said)
		var ready Ready
		if all.Decode(&ready) != nil {
			return
		}
		ready.PID, ready.PushRegistry, ready.GitPush = cmd.Process.Pid, sockets.registry, "http://"+sockets.git
		c.Ready(ready)
		for {
			var a Answer
			if all.Decode(&a) != nil {
				return
			}
			c.Answered(a)
		}
	}()
	defer func() { <-printed }()

	for {
		select {
		case command := <-c.Commands:
			if _, err := fmt.Fprintln(alive, command); err != nil {
				c.Answered(Answer{Command(command), err.Error()})
			}
		case err := <-exited:
			if err == nil {
				err = errors.New("it ended by itself")
			}
			return fmt.Errorf("the node's first process: %w", err)
		case <-ctx.Done():
			// All the others are killed by the system, and it has ended only when they have.
			_ = cmd.Process.Kill()
			<-exited
			return nil
		}
	}
}

// sockets are addresses on the machine's loopback.
type sockets struct{ registry, git string }

// listen opens the sockets that the node's processes inherit, in the order in which Run takes them.
func (c Config) listen() (s sockets, files []*os.File, err error) {
	api, err := c.Folder.Listen()
	if err != nil {
		return s, nil, err
	}
	listeners := []net.Listener{api}
	for range 2 {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return s, files, err
		}
		listeners = append(listeners, l)
	}
	for _, l := range listeners {
		// A duplicate, which stays open.
		f, err := l.(*net.TCPListener).File()
		if err != nil {
			return s, files, err
		}
		files = append(files, f)
		if err := l.Close(); err != nil {
			return s, files, err
		}
	}
	return sockets{registry: listeners[1].Addr().String(), git: listeners[2].Addr().String()}, files, nil
}
