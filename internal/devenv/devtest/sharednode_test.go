package devtest_test

import (
	"testing"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// A node that no test of this process uses any more is stopped, so that whoever waits for the machine's node gets it. Not in
// parallel: another test that uses the node would keep it.
func TestNodeIsLeftToOthers(t *testing.T) {
	server := ""
	t.Run("the tests' own", func(t *testing.T) { server = devtest.Node(t).Config().Host })
	t.Run("another's", func(t *testing.T) {
		if devtest.OwnNode(t).Config().Host == server {
			t.Error("it is the same node")
		}
	})
}
