//go:build !unix

package guardian

import (
	"errors"
	"os/exec"
)

func detach(*exec.Cmd) error {
	return errors.New("taking over is not supported on this system; use WSL2")
}

func exited(int) (how string, ended bool) { return "", true }
