package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

// collectLate lets the heap grow to 32 MiB before garbage is collected for the
// first time, instead of the 4 MiB of Go: most commands end before that, and
// would spend a tenth of their time on it. Then all is as usual. GOGC overrules
// it.
func collectLate() {
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(800)
	// It is garbage at once, and so goes with the first collection.
	runtime.AddCleanup(new([64]byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
}
