package standard_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pharos-dev/pharos/receipt"
)

// filesOf damages the files of a store in a folder.
type filesOf struct {
	t      *testing.T
	folder string
}

func (f filesOf) record(id receipt.ID) string {
	f.t.Helper()
	found, err := filepath.Glob(filepath.Join(f.folder, "records", "*"+id.Hex()+".json"))
	if err != nil || len(found) != 1 {
		f.t.Fatalf("files of receipt %s: %v, %v", id, found, err)
	}
	return found[0]
}

func (f filesOf) remove(id receipt.ID) {
	f.t.Helper()
	if err := os.Remove(f.record(id)); err != nil {
		f.t.Fatal(err)
	}
}

func (f filesOf) spoil(id receipt.ID) { f.write(f.record(id), "main\n") }

func (f filesOf) pointers() string { return filepath.Join(f.folder, "pointers.json") }

func (f filesOf) misdirect() { f.write(f.pointers(), "main\n") }

func (f filesOf) empty() { f.write(f.pointers(), `{"version":7}`) }

func (f filesOf) lose() {
	f.t.Helper()
	if err := os.Remove(f.pointers()); err != nil {
		f.t.Fatal(err)
	}
}

func (f filesOf) write(file, content string) {
	f.t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		f.t.Fatal(err)
	}
}
