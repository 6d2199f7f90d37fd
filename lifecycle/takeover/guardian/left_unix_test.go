//go:build unix

package guardian_test

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
)

// Where the folder's path is too long for a socket, the next guardian removes the folder
// of one that was killed, and nothing else.
func TestGuardianLeft(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]bool{"its own": false, "with something else": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "pharos-1")
			if err := os.Mkdir(elsewhere, 0o700); err != nil {
				t.Fatal(err)
			}
			files := []string{"s"}
			if more {
				files = append(files, "other")
			}
			for _, file := range files {
				if err := os.WriteFile(filepath.Join(elsewhere, file), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			doc, err := json.Marshal(map[string]any{"version": guardian.Version, "pid": 1, "socket": filepath.Join(elsewhere, "s")})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, "guardian.json"), doc, 0o600); err != nil {
				t.Fatal(err)
			}
			none := errors.New("there is no session")
			_, err = guardian.Listen(guardian.Config{Folder: folder, New: func(takeover.Sink, func(string) io.Writer) (*takeover.Session, error) { return nil, none }})
			if !errors.Is(err, none) {
				t.Fatal(err)
			}
			if _, err := os.Stat(elsewhere); errors.Is(err, fs.ErrNotExist) == more {
				t.Errorf("the folder of the socket: %v", err)
			}
			if _, err := os.Stat(filepath.Join(folder, "guardian.json")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("where it was is still said: %v", err)
			}
		})
	}
}

// A damaged file is in nobody's way.
func TestGuardianDamaged(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "guardian.json"), []byte(`{"version":1,"pid`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := guardian.Connect(t.Context(), folder); !errors.Is(err, guardian.ErrNotRunning) {
		t.Errorf("no guardian is found: %v", err)
	}
}
