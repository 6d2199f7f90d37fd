//go:build linux

package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"
)

// lockPath is the file whose lock the process holds that has the machine's node. While there is one, or when it was
// killed, the file names its state folder.
const lockPath = "/run/pharos-devcluster-node.lock"

type turn struct{ file *os.File }

// takeTurn waits until no other process has the machine's node or ctx ends.
func takeTurn(ctx context.Context, waiting func()) (*turn, error) {
	f, err := os.OpenFile(lockPath, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the machine's node: %w", err)
	}
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for first := true; ; first = false {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return &turn{f}, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock the machine's node: %w", err), f.Close())
		}
		if first {
			waiting()
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		}
	}
}

// swap notes the state folder and returns what was noted by a process that was killed.
func (t *turn) swap(folder string) (previous string, err error) {
	b, err := io.ReadAll(io.NewSectionReader(t.file, 0, 1<<16))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", lockPath, err)
	}
	if err := t.note(folder); err != nil {
		return "", err
	}
	return strings.TrimSpace(string(b)), nil
}

func (t *turn) note(text string) error {
	err := t.file.Truncate(0)
	if err == nil {
		_, err = t.file.WriteAt([]byte(text), 0)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", lockPath, err)
	}
	return nil
}

// release gives the turn to the next one. If nothing is left to be swept, the note goes.
func (t *turn) release(clean bool) error {
	var err error
	if clean {
		err = t.note("")
	}
	return errors.Join(err, t.file.Close())
}
