//go:build unix

package watch_test

import (
	"syscall"
	"testing"
)

func makePipe(t testing.TB, place string) {
	t.Helper()
	must(t, syscall.Mkfifo(place, 0o600))
}
