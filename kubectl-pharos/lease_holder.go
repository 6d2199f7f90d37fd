package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/atomicfile"
	"github.com/pharos-dev/pharos/lease"
)

// holderFile is where the ID of a lease's holder is kept, private to the
// checkout: whoever knows it can release the lease.
func holderFile(repo *source.Repository, target string) string {
	return filepath.Join(repo.GitDir(), "pharos", "lease-"+target)
}

func rememberHolder(repo *source.Repository, target, holder string) error {
	name := holderFile(repo, target)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fmt.Errorf("keep the lease's holder: %w", err)
	}
	if err := atomicfile.Write(name, []byte(holder+"\n")); err != nil {
		return fmt.Errorf("keep the lease's holder: %w", err)
	}
	return nil
}

func recallHolder(repo *source.Repository, target string) (string, error) {
	data, err := os.ReadFile(holderFile(repo, target))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("no lease of target %q was acquired in this repository\nGive the holder's ID with --holder: kubectl pharos lease show -o yaml", target)
	}
	return strings.TrimSpace(string(data)), err
}

// forgetHolder removes what was kept, unless the reason is one after which the
// lease may still be ours.
func forgetHolder(repo *source.Repository, target string, reason error) error {
	if reason != nil && !errors.Is(reason, lease.ErrLost) {
		return nil
	}
	if err := os.Remove(holderFile(repo, target)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
