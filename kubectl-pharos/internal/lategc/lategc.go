// Package lategc lets a program that imports it collect garbage late.
//
// The heap grows to 16 MiB before garbage is collected for the first time,
// instead of the 4 MiB of Go: most commands end before that, and would spend a
// tenth of their time on it. Then all is as usual. GOGC overrules it.
//
// It is a package of its own since what the plugin links makes 4 MiB before main
// begins: packages that do not import each other are initialised in the order of
// their paths (https://go.dev/ref/spec#Program_initialization), this one before
// those of Kubernetes.
package lategc

import (
	"os"
	"runtime"
	"runtime/debug"
)

func init() {
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(400)
	// It is garbage at once, and so goes with the first collection.
	runtime.AddCleanup(new([64]byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
}
