//go:build !linux

package exectest

import "os/exec"

// AnotherUser is whom a command of AsAnotherUser runs as on Linux.
const AnotherUser = 65534

// AsAnotherUser leaves the command as it is on this system.
func AsAnotherUser(*exec.Cmd) {}
