//go:build !unix

package takeover

import "errors"

// lock cannot lock on this system: what runs a workload needs another one, too.
func lock(string) (unlock func(), err error) {
	return nil, errors.New("taking over is not supported on this system; use WSL2")
}
