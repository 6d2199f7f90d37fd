package ephemeral

import (
	"context"
	"log/slog"
)

// TB is the part of a test that is needed here. *testing.T, *testing.B and Ginkgo's
// GinkgoT() have it.
type TB interface {
	Helper()
	Name() string
	// Context is the test's own: it may end before what Cleanup was given runs, and is
	// not asked for there.
	Context() context.Context
	// Cleanup has f run when the test has ended, in whatever way; the last one first.
	Cleanup(f func())
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	// Fatalf does not return.
	Fatalf(format string, args ...any)
}

// logger logs in the test's own output.
func logger(t TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(output{t}, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
}

func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// output is a writer of lines.
type output struct{ t TB }

func (o output) Write(line []byte) (int, error) {
	o.t.Helper()
	o.t.Logf("ephemeral: %s", line)
	return len(line), nil
}
