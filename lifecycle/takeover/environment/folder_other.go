//go:build !unix

package environment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// A takeover runs on Linux and macOS.

func createLock(path string) (*os.File, error) {
	return nil, fmt.Errorf("make %s: %w", path, errors.ErrUnsupported)
}

func takeLock(string) (*os.File, error) { return nil, nil }

func isOwn(fs.FileInfo) bool { return false }
