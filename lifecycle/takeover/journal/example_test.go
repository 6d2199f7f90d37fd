package journal_test

import (
	"errors"
	"fmt"
	"os"

	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// Each step is written down before it is begun, and the next process goes on from there.
func ExampleFile() {
	dir, err := os.MkdirTemp("", "journal")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	f, err := journal.OpenFile(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	d := journal.Document{Session: "S1", Target: "devbox", Namespace: "pharos", Cluster: "5f0c8a52", Holder: "H1", Step: journal.Planned}
	version, err := f.Save(d, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	d.Step = journal.Leased
	if _, err := f.Save(d, version); err != nil {
		fmt.Println(err)
		return
	}
	found, version, err := f.Load()
	fmt.Println(found, err)
	fmt.Println(f.Remove(version))
	_, _, err = f.Load()
	fmt.Println(errors.Is(err, journal.ErrNone))
	// Output:
	// session S1 of target devbox at step leased <nil>
	// <nil>
	// true
}
