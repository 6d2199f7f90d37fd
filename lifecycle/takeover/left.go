package takeover

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// Left returns the session that the journal in a Config.Folder has, which may run or
// not; the error matches journal.ErrNone if it has none. It writes nothing, and where
// no takeover ever was it only looks for a folder.
func Left(folder string) (journal.Document, error) {
	dir := filepath.Join(folder, journalFolder)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return journal.Document{}, journal.ErrNone
	}
	file, err := journal.OpenFile(dir)
	if err != nil {
		return journal.Document{}, err
	}
	doc, _, err := file.Load()
	return doc, err
}
