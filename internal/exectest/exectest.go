// Package exectest writes programs that tests run.
package exectest

import (
	"os"
	"syscall"
	"testing"
)

// Write writes a program that may be run at once. A process that is started
// while the file is open for writing holds it open too until it runs another
// program, and until then the system refuses to run the file ("text file busy"):
// no process is started meanwhile.
func Write(t testing.TB, file string, content []byte) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(file, content, 0o700); err != nil {
		t.Fatal(err)
	}
}
