package guardian

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/pharos-dev/pharos/internal/atomicfile"
)

// ErrNotRunning is returned where no guardian answers.
var ErrNotRunning = errors.New("no takeover runs in this checkout")

// place is where a guardian is: the content of guardian.json.
type place struct {
	Version int       `json:"version"`
	PID     int       `json:"pid"`
	Socket  string    `json:"socket"`
	Started time.Time `json:"started"`
}

const (
	placeName  = "guardian.json"
	socketName = "guardian.sock"
	// longestPath is how long the path of a socket may be on every system.
	longestPath = 100
)

// private makes a folder, and one that is there already nobody else's.
func private(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(folder)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return os.Chmod(folder, 0o700)
}

// choose is where the socket of a folder is to be. One whose path is too long gets a
// private folder elsewhere.
func choose(folder string) (socket string, remove func(), err error) {
	if socket = filepath.Join(folder, socketName); len(socket) <= longestPath {
		err := os.Remove(socket)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return socket, func() { _ = os.Remove(socket) }, err
	}
	own, err := os.MkdirTemp("", "pharos-") // 0700
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(own) }
	if socket = filepath.Join(own, "s"); len(socket) > longestPath {
		remove()
		return "", nil, fmt.Errorf("%s is too long for a socket: set TMPDIR to a folder with a shorter name", socket)
	}
	return socket, remove, nil
}

// forget removes what a guardian of the folder has left that was killed: nothing listens
// there any more. A socket in the folder itself is replaced.
func forget(folder string) {
	p, err := find(folder)
	if err != nil {
		return // there is none, or it is written anew
	}
	_ = os.Remove(filepath.Join(folder, placeName))
	if own := filepath.Dir(p.Socket); own != filepath.Clean(folder) {
		_ = os.Remove(p.Socket)
		_ = os.Remove(own) // unless there is something else
	}
}

// write makes the place known.
func (p place) write(folder string) error {
	doc, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(folder, placeName), append(doc, '\n'))
}

// find reads the place. It is ErrNotRunning if there is none, or nothing that a guardian
// writes: should one run all the same, its lock keeps others away.
func find(folder string) (p place, err error) {
	doc, err := os.ReadFile(filepath.Join(folder, placeName))
	if errors.Is(err, fs.ErrNotExist) {
		return p, ErrNotRunning
	}
	if err != nil {
		return p, err
	}
	if json.Unmarshal(doc, &p) != nil {
		return p, ErrNotRunning
	}
	if p.Version != Version {
		return p, fmt.Errorf("%s is of version %d, and this program speaks %d: use the program that began the takeover", filepath.Join(folder, placeName), p.Version, Version)
	}
	return p, nil
}
