package takeover

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover/internal/flock"
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
	doc, _, err := readJournal(file)
	return doc, err
}

// SetAside gives a journal in a Config.Folder that cannot be read another name, which it
// returns, so that nothing of it is lost and another takeover can begin; empty where it
// can be read, or there is none. ErrRunning while a process runs the session.
func SetAside(folder string) (string, error) {
	if _, err := Left(folder); !errors.Is(err, journal.ErrDamaged) {
		return "", nil
	}
	unlock, err := flock.Lock(filepath.Join(folder, "lock"))
	if errors.Is(err, flock.ErrLocked) {
		err = ErrRunning
	}
	if err != nil {
		return "", err
	}
	defer unlock()
	file, err := journal.OpenFile(filepath.Join(folder, journalFolder))
	if err != nil {
		return "", err
	}
	return file.SetAside()
}

// readJournal reads a journal, and says what helps where that cannot be done: the target itself
// knows how to put the workloads back.
func readJournal(file *journal.File) (journal.Document, string, error) {
	doc, version, err := file.Load()
	if errors.Is(err, journal.ErrDamaged) {
		err = &lifecycle.BlockedError{Reason: err.Error(), Err: err,
			Next: "Hand back by what the target has written down: kubectl pharos handback --force --reason TEXT. That keeps the file under another name, beside " + file.Path()}
	}
	return doc, version, err
}
