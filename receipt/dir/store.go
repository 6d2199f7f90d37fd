package dir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/pharos-dev/pharos/internal/atomicfile"
	"github.com/pharos-dev/pharos/receipt"
)

// Clock tells the time.
type Clock interface{ Now() time.Time }

// Config says where a Store is and whose receipts it keeps.
type Config struct {
	// Dir is the store's folder. It is created if it does not exist, with
	// access for its owner only.
	Dir string
	// Target is the name of the target whose receipts the store keeps. A
	// record of another target is refused.
	Target string
	// Clock dates new receipts. The default is the machine's clock.
	Clock Clock
}

// Store keeps the receipts of one target in a folder. It is safe for
// concurrent use, also by several processes of one machine.
type Store struct {
	dir, target string
	clock       Clock
	lock        *lockedfile.Mutex
}

var _ receipt.Store = (*Store)(nil)

// New returns the store in a folder, which it creates if need be.
func New(c Config) (*Store, error) {
	if c.Dir == "" || c.Target == "" {
		return nil, errors.New("receipt store: Config.Dir and Config.Target are required")
	}
	if c.Clock == nil {
		c.Clock = systemClock{}
	}
	s := &Store{dir: c.Dir, target: c.Target, clock: c.Clock}
	for _, folder := range []string{s.records(), s.outcomes()} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, &FileError{Op: "create receipt store", Path: c.Dir, Err: err}
		}
	}
	s.lock = lockedfile.MutexAt(filepath.Join(c.Dir, "lock"))
	return s, nil
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (s *Store) records() string  { return filepath.Join(s.dir, "records") }
func (s *Store) outcomes() string { return filepath.Join(s.dir, "outcomes") }

// write runs change while no other process writes. A writer holds the lock for
// the time of a few flushes, so waiting for it does not look at ctx.
func (s *Store) write(ctx context.Context, change func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	unlock, err := s.lock.Lock()
	if err != nil {
		return &FileError{Op: "lock receipt store", Path: s.dir, Err: err}
	}
	defer unlock()
	for _, folder := range []string{s.dir, s.records(), s.outcomes()} {
		if err := sweep(folder); err != nil {
			return &FileError{Op: "remove temporary files", Path: folder, Err: err}
		}
	}
	return change()
}

// Put implements receipt.Store.
func (s *Store) Put(ctx context.Context, r receipt.Record) (receipt.ID, error) {
	data, err := r.Canonical()
	if err != nil {
		return "", err
	}
	if r.Target.Name != s.target {
		return "", fmt.Errorf("%w: it is for target %q, and this store keeps those of %q", receipt.ErrInvalid, r.Target.Name, s.target)
	}
	id, err := r.ID()
	if err != nil {
		return "", err
	}
	err = s.write(ctx, func() error {
		entries, err := s.entries()
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(entries, is(id)); i >= 0 {
			_, err := s.record(entries[i])
			return err
		}
		created := s.clock.Now().UTC().Round(0)
		if n := len(entries); n > 0 && !created.After(entries[n-1].created) {
			created = entries[n-1].created.Add(1)
		}
		e := entry{id: id, created: created}
		if err := atomicfile.Write(s.path(e), data); err != nil {
			return &FileError{Op: "write record", Path: s.path(e), Err: err}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return id, nil
}

// Get implements receipt.Store.
func (s *Store) Get(ctx context.Context, id receipt.ID) (receipt.Record, error) {
	if err := ctx.Err(); err != nil {
		return receipt.Record{}, err
	}
	e, err := s.find(id)
	if err != nil {
		return receipt.Record{}, err
	}
	return s.record(e)
}

// List implements receipt.Store.
func (s *Store) List(ctx context.Context) ([]receipt.Summary, error) {
	entries, err := s.entries()
	if err != nil {
		return nil, err
	}
	list := make([]receipt.Summary, 0, len(entries))
	for _, e := range slices.Backward(entries) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		sum, err := s.summary(ctx, e)
		if errors.Is(err, receipt.ErrNotFound) {
			continue // it was deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		list = append(list, sum)
	}
	return list, nil
}

// summary is a record's line of a list.
func (s *Store) summary(ctx context.Context, e entry) (receipt.Summary, error) {
	sum := receipt.Summary{ID: e.id, Created: e.created}
	r, err := s.record(e)
	if errors.Is(err, receipt.ErrNotFound) {
		return sum, err
	}
	if err == nil {
		sum.Commit = r.Commit
	}
	outcomes, oerr := s.Outcomes(ctx, e.id)
	for _, o := range outcomes {
		sum.Add(o.Summary())
	}
	sum.Err = errors.Join(err, oerr)
	if sum.Err != nil && !errors.Is(sum.Err, receipt.ErrCorrupt) {
		return receipt.Summary{}, sum.Err
	}
	return sum, nil
}

// entry is a record's file.
type entry struct {
	id      receipt.ID
	created time.Time
}

const stampLayout = "20060102T150405.000000000Z"

// is returns a test for the entry of an ID.
func is(id receipt.ID) func(entry) bool {
	return func(e entry) bool { return e.id == id }
}

func (s *Store) path(e entry) string {
	return filepath.Join(s.records(), e.created.Format(stampLayout)+"-"+e.id.Hex()+".json")
}

// entries returns the records' files, oldest first. Files of other names, such
// as temporary ones, are none of the store's.
func (s *Store) entries() ([]entry, error) {
	files, err := os.ReadDir(s.records()) // sorted by name, so by time
	if err != nil {
		return nil, &FileError{Op: "list records", Path: s.records(), Err: err}
	}
	var list []entry
	for _, f := range files {
		stamp, hex, ok := strings.Cut(strings.TrimSuffix(f.Name(), ".json"), "-")
		if !ok {
			continue
		}
		id, err := receipt.ParseID("sha256:" + hex)
		if err != nil {
			continue
		}
		created, err := time.Parse(stampLayout, stamp)
		if err != nil {
			continue
		}
		list = append(list, entry{id: id, created: created})
	}
	return list, nil
}

func (s *Store) find(id receipt.ID) (entry, error) {
	if _, err := receipt.ParseID(string(id)); err != nil {
		return entry{}, fmt.Errorf("%w: %w", receipt.ErrNotFound, err)
	}
	entries, err := s.entries()
	if err != nil {
		return entry{}, err
	}
	i := slices.IndexFunc(entries, is(id))
	if i < 0 {
		return entry{}, fmt.Errorf("%w: %s in %s", receipt.ErrNotFound, id, s.dir)
	}
	return entries[i], nil
}

// record reads the record of an entry and checks that it is that record.
func (s *Store) record(e entry) (receipt.Record, error) {
	path := s.path(e)
	fail := func(err error) (receipt.Record, error) {
		return receipt.Record{}, &FileError{Op: "read record", Path: path, Err: err}
	}
	data, err := readFile(path, receipt.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return fail(fmt.Errorf("%w: %w", receipt.ErrNotFound, err))
	}
	if err != nil {
		return fail(err)
	}
	r, id, err := receipt.Parse(data)
	if err != nil {
		return fail(fmt.Errorf("%w: %w", receipt.ErrCorrupt, err))
	}
	if id != e.id {
		return fail(fmt.Errorf("%w: its content is %s", receipt.ErrCorrupt, id))
	}
	return r, nil
}
