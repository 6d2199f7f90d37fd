package flock_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/flock"
)

func TestLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := flock.Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := flock.Lock(path); !errors.Is(err, flock.ErrLocked) {
		t.Errorf("locked twice: %v", err)
	}
	unlock()
	unlock, err = flock.Lock(path)
	if err != nil {
		t.Fatalf("locked again: %v", err)
	}
	unlock()
}
