package receipttest_test

import (
	"testing"

	"github.com/pharos-dev/pharos/receipt"
	"github.com/pharos-dev/pharos/receipt/dir"
	"github.com/pharos-dev/pharos/receipt/receipttest"
)

// An implementation's own test gives the suite an empty store for each of its
// tests.
func ExampleTestStore() {
	var t *testing.T // of func TestStore(t *testing.T)
	run := func() {
		receipttest.TestStore(t, func(t *testing.T) receipt.Store {
			s, err := dir.New(dir.Config{Dir: t.TempDir(), Target: receipttest.Target})
			if err != nil {
				t.Fatal(err)
			}
			return s
		})
	}
	_ = run
}
