package runtime

import (
	"os"
	"syscall"
)

const (
	supported    = false
	addressInUse = syscall.Errno(10048) // WSAEADDRINUSE
)

var terminate = os.Kill

func signalNamed(string) os.Signal { return nil }
