package exectest

import (
	"os"
	"os/exec"
	"syscall"
)

// AnotherUser is whom a command of AsAnotherUser runs as.
const AnotherUser = 65534

// AsAnotherUser has a command run as another user and group, if this process is
// root. It may read and write what root may, so that it finds its program and its
// folders; what it makes belongs to the other user.
func AsAnotherUser(cmd *exec.Cmd) {
	if os.Geteuid() != 0 {
		return
	}
	const overrides, searches = 1, 2 // CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential:  &syscall.Credential{Uid: AnotherUser, Gid: AnotherUser},
		AmbientCaps: []uintptr{overrides, searches},
	}
	// The capabilities are of effect after the next program was started, which
	// has to be one that everybody may run.
	cmd.Args = append([]string{"env", cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/usr/bin/env"
}
