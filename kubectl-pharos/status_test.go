package main

import (
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/receipt"
)

func TestBeginningOfAReason(t *testing.T) {
	t.Parallel()
	of := receipt.ID("sha256:" + strings.Repeat("ab", 32))
	const all = "\nAll of it: kubectl pharos receipts show abababababab"
	for name, tc := range map[string]struct{ reason, want string }{
		"none":         {"", ""},
		"short":        {"not healthy:\n  Pod a: gone\n", "not healthy:\n  Pod a: gone"},
		"as much":      {strings.Repeat("x\n", reasonLines), strings.TrimSpace(strings.Repeat("x\n", reasonLines))},
		"many lines":   {strings.Repeat("x\n", 9), strings.TrimSpace(strings.Repeat("x\n", reasonLines)) + all},
		"a long line":  {"a\n" + strings.Repeat("é", 999) + "\nb", "a\n" + strings.Repeat("é", reasonWidth) + "…\nb" + all},
		"a whole line": {strings.Repeat("é", reasonWidth), strings.Repeat("é", reasonWidth)},
	} {
		if got := beginning(tc.reason, of); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
