package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/atomicfile"
	"github.com/pharos-dev/pharos/lifecycle/standard"
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
		return "", notSo("there is nothing to release: no lease of target %q was acquired in this repository\n"+
			"For one that was acquired elsewhere give --holder, which this says: kubectl pharos lease show -o jsonpath={.holder}", target)
	}
	return strings.TrimSpace(string(data)), err
}

// heldHere recalls the holder's ID, and tells where there is none because nobody holds
// the lease from where somebody else may.
func (s *shared) heldHere(ctx context.Context, repo *source.Repository, t standard.Target, so standard.Options) (string, error) {
	holder, err := recallHolder(repo, t.Name)
	if !errors.Is(err, errNotSo) {
		return holder, err
	}
	m, cannot := standard.NewLease(t, so)
	if cannot != nil {
		return "", err
	}
	if st, cannot := m.Inspect(ctx); cannot == nil && !st.Held {
		return "", notSo("there is nothing to release: the lease of target %q is free", t.Name)
	}
	return "", err
}

// forgetHolder removes what was kept.
func forgetHolder(repo *source.Repository, target string) error {
	if err := os.Remove(holderFile(repo, target)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
