//go:build !unix

package flock

import "errors"

// Lock cannot lock on this system: what runs a workload needs another one, too.
func Lock(string) (unlock func(), err error) {
	return nil, errors.New("taking over is not supported on this system; use WSL2")
}
