package environment

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pharos-dev/pharos/internal/atomicfile"
)

// folderPrefix begins the names of folders and of their locks, which end in
// lockSuffix.
const (
	folderPrefix = "pharos-takeover-"
	lockSuffix   = ".lock"
)

// Folder is a folder that is the user's alone, for the files of one process. It
// must be wiped when they are not needed any more.
//
// Beside it is a file that is locked for as long as this process runs: by it Recover
// in any other process tells the folder of a process that was killed, whatever the
// numbers of processes are, and wipes it. A Folder may be used by several goroutines
// at once.
type Folder struct {
	base     string
	name     string
	inMemory bool
	lock     *os.File

	mu  sync.Mutex           // held while files are written and removed
	due map[string]time.Time // when tokens are to be renewed, by path
}

// NewFolder makes a folder in the first of the bases that is a file system in memory,
// or else in the first one where that can be done: in $XDG_RUNTIME_DIR, /dev/shm
// and the folder for temporary files, say. A base that is empty or does not exist is
// passed over.
func NewFolder(bases ...string) (*Folder, error) {
	var errs []error
	for _, wanted := range []bool{true, false} {
		for _, base := range bases {
			if base == "" || inMemory(base) != wanted {
				continue
			}
			f, err := newFolder(base, wanted)
			if err == nil {
				return f, nil
			}
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 {
		errs = append(errs, errors.New("there is no folder to make it in"))
	}
	return nil, fmt.Errorf("make a private folder: %w", errors.Join(errs...))
}

func newFolder(base string, memory bool) (*Folder, error) {
	f := &Folder{base: base, inMemory: memory, due: map[string]time.Time{}}
	for f.lock == nil {
		f.name = fmt.Sprintf("%s%d-%s", folderPrefix, os.Getuid(), rand.Text())
		// The lock comes first: a folder never stands without it.
		lock, err := createLock(f.Path() + lockSuffix)
		if err != nil {
			return nil, err
		}
		f.lock = lock // nil if Recover in another process was quicker
	}
	if err := os.Mkdir(f.Path(), 0o700); err != nil {
		return nil, errors.Join(err, f.Wipe())
	}
	return f, nil
}

// Path returns where the folder is.
func (f *Folder) Path() string { return filepath.Join(f.base, f.name) }

// InMemory says whether the folder is on a file system in memory. Its pages may
// still be swapped out; where it is not, the files are on a disk until they are
// wiped, and a disk may keep more than a file system shows.
func (f *Folder) InMemory() bool { return f.inMemory }

// Write writes the files of an environment below the folder, each at its path in the
// container, and asks for the tokens among them. secret, which may be nil, is told
// each token before it is written, for a Scrubber.
func (f *Folder) Write(ctx context.Context, r Reader, e Environment, secret func(string)) error {
	for _, file := range e.Files {
		if err := f.put(file.Path, file.data.text(), file.Mode); err != nil {
			return fmt.Errorf("write %s: %w", file, err)
		}
	}
	for _, t := range e.tokens {
		if err := f.putToken(ctx, r, t, secret); err != nil {
			return err
		}
	}
	return nil
}

func (f *Folder) putToken(ctx context.Context, r Reader, t tokenFile, secret func(string)) error {
	asked := time.Now()
	token, err := r.Token(ctx, t.namespace, t.serviceAccount, t.audience, tokenLifetime)
	if err != nil {
		return fmt.Errorf("get a token of service account %s/%s: %w. The right to do it is verb create on serviceaccounts/token with the resource name %s", t.namespace, t.serviceAccount, err, t.serviceAccount)
	}
	if secret != nil {
		secret(token.hidden.text())
	}
	if err := f.put(t.path, token.hidden.text(), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", t.path, err)
	}
	// By this machine's clock it lives as long as was asked for, at most.
	expires := asked.Add(tokenLifetime)
	if token.Expires.Before(expires) {
		expires = token.Expires
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.due[t.path] = expires.Round(0).Add(-tokenLifetime / 5)
	return nil
}

// isDue says whether a token is to be renewed. Times are compared as clocks show
// them, since a monotonic clock may stand still while a machine sleeps.
func (f *Folder) isDue(t tokenFile) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !time.Now().Round(0).Before(f.due[t.path])
}

// put writes a file, whole or not at all.
func (f *Folder) put(at, text string, mode fs.FileMode) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lock == nil {
		return errWiped
	}
	local := localPath(f.Path(), at)
	if err := os.MkdirAll(filepath.Dir(local), 0o700); err != nil {
		return err
	}
	if err := atomicfile.Write(local, []byte(text)); err != nil {
		return err
	}
	return os.Chmod(local, mode&0o700)
}

var errWiped = errors.New("the folder has been wiped")

// Renew renews the tokens of an environment until ctx ends or the folder is wiped,
// each when a fifth of its time is left. It looks at the time every few seconds, as
// timers stand still while a machine sleeps. failed, which may be nil, is told what
// goes wrong; it is tried again. secret is as in Write. It returns ctx's error, and
// nil if the folder was wiped.
func (f *Folder) Renew(ctx context.Context, r Reader, e Environment, secret func(string), failed func(error)) error {
	tick := time.NewTicker(renewalTick)
	defer tick.Stop()
	for {
		for _, t := range e.tokens {
			if !f.isDue(t) {
				continue
			}
			err := f.putToken(ctx, r, t, secret)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case errors.Is(err, errWiped):
				return nil
			case err != nil && failed != nil:
				failed(err)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// renewalTick is how often Renew looks at the time.
const renewalTick = 5 * time.Second

// Wipe removes the folder and all that is in it. After that nothing is written. It
// may be called again.
func (f *Folder) Wipe() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lock == nil {
		return nil
	}
	if err := wipe(f.Path(), f.inMemory); err != nil {
		return fmt.Errorf("wipe %s: %w. It may hold secrets: remove it", f.Path(), err)
	}
	err := os.Remove(f.lock.Name())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err = errors.Join(err, f.lock.Close()); err != nil {
		return fmt.Errorf("wipe %s: %w", f.Path(), err)
	}
	f.lock = nil
	return nil
}

// wipe removes a folder. What is on a disk is overwritten first.
func wipe(dir string, memory bool) error {
	if !memory {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			return overwrite(path)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.RemoveAll(dir)
}

func overwrite(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.Write(make([]byte, info.Size()))
	return errors.Join(err, file.Sync(), file.Close())
}

// Recover wipes what is left in the bases of folders of this user whose process has
// ended, and returns their paths.
func Recover(bases ...string) (wiped []string, err error) {
	var errs []error
	for _, base := range bases {
		if base == "" {
			continue
		}
		entries, err := os.ReadDir(base)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("look for folders of sessions that were killed: %w", err))
		}
		seen := map[string]bool{}
		for _, e := range entries {
			name := strings.TrimSuffix(e.Name(), lockSuffix)
			if !strings.HasPrefix(name, fmt.Sprintf("%s%d-", folderPrefix, os.Getuid())) || seen[name] {
				continue
			}
			seen[name] = true
			f, err := takeFolder(base, name)
			if err == nil && f != nil {
				if err = f.Wipe(); err == nil {
					wiped = append(wiped, f.Path())
				}
			}
			errs = append(errs, err)
		}
	}
	return wiped, errors.Join(errs...)
}

// takeFolder returns a folder that a process has left; nil if one still has it, or it
// is not this user's.
func takeFolder(base, name string) (*Folder, error) {
	dir := filepath.Join(base, name)
	if info, err := os.Lstat(dir); err == nil && (!info.IsDir() || !isOwn(info)) {
		return nil, nil
	}
	lock, err := takeLock(dir + lockSuffix)
	if err != nil || lock == nil {
		return nil, err
	}
	return &Folder{base: base, name: name, inMemory: inMemory(base), lock: lock}, nil
}
