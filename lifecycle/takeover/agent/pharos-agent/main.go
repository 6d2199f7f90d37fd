// Pharos-agent stands in the place of a container that was taken over, and sends its
// connections to a workstation: package agent does, with the session of its image.
//
//	pharos-agent [run]   serve until SIGTERM, and drain
//	pharos-agent probe   succeed while the agent of this container accepts streams
//	pharos-agent hook    do nothing
//
// More arguments are ignored: they may be what a manifest gives the program whose
// place it took.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/takeover/agent"
	"github.com/pharos-dev/pharos/lifecycle/takeover/agent/wire"
)

const (
	// processors is how many a relay has use for: what comes through an API server is not more than one copies, and goroutines
	// that hand on what they copy wake no threads.
	processors = 1
	// memoryLimit has the garbage collector work harder before a connection's memory
	// becomes the container's problem.
	memoryLimit  = 52 << 20
	probeTimeout = time.Second
	// cgroupLimit has the container's limit (cgroup v2), in bytes or "max".
	cgroupLimit = "/sys/fs/cgroup/memory.max"
)

func main() {
	runtime.GOMAXPROCS(processors)
	debug.SetMemoryLimit(limit(cgroupLimit))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := run(ctx, os.Args[1:], wire.SessionPath, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "pharos-agent:", err)
		os.Exit(1)
	}
}

// limit returns the memory limit to keep: less if the container has little.
func limit(cgroup string) int64 {
	text, err := os.ReadFile(cgroup)
	if err != nil {
		return memoryLimit
	}
	container, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return memoryLimit
	}
	return min(memoryLimit, container/4*3)
}

func run(ctx context.Context, args []string, path string, stderr io.Writer) error {
	command := wire.CommandRun
	if len(args) > 0 {
		command = args[0]
	}
	if command == wire.CommandHook {
		return nil
	}
	doc, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	session, err := wire.ParseSession(doc)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if command == wire.CommandProbe {
		return probe(ctx, session)
	}
	pod, err := os.Hostname()
	if err != nil {
		return err
	}
	return agent.Run(ctx, agent.Config{Session: session, Pod: pod, Log: slog.New(slog.NewTextHandler(stderr, nil))})
}

func probe(ctx context.Context, session wire.Session) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(session.Control))))
	if err != nil {
		return err
	}
	return conn.Close()
}
