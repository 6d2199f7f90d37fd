package main

import (
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

// why FILE [N] explains the image api since the receipt whose ID, or whose first
// N characters, the file holds.
func why(ts *testscript.TestScript, _ bool, args []string) {
	id := ts.ReadFile(args[0])
	if len(args) > 1 {
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		id = id[:n]
	}
	pharos(ts, false, []string{"0", "why", "api", "--from", id})
}
