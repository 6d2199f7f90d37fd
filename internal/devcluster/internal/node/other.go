//go:build !linux

package node

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/pharos-dev/pharos/internal/devcluster/internal/state"
)

var errLinux = errors.New("a node runs on Linux only")

// Config says how a node is kept.
type Config struct {
	Folder         *state.Folder
	Programs       map[string]string
	Log            *slog.Logger
	Waiting, Begun func()
	Swept          func(previous string)
	Ready          func(Ready)
	Commands       <-chan string
	Answered       func(Answer)
}

// Keep fails: it works on Linux only.
func Keep(context.Context, Config) error { return errLinux }

// Init fails: it works on Linux only.
func Init(string) (int, error) { return 0, errLinux }

// Run fails: it works on Linux only.
func Run(context.Context, string, io.Reader, io.Writer) error { return errLinux }

// APIServer fails: it works on Linux only.
func APIServer(ctx context.Context, folder, etcd string) error { return errLinux }
