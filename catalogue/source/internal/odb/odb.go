package odb

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

const (
	// maxMemory is how large an object may be, or the base of its delta, to be
	// unpacked in memory. Beyond it takes temporary files.
	maxMemory = 64 << 20
	// largeObject is how large objects are that are unpacked one at a time, so
	// that many readers do not need many times the memory.
	largeObject = 2 << 20
)

// DB is the object database of a repository. It is safe for concurrent use.
type DB struct {
	format Format
	dirs   []string // the repository's own first, then its alternates

	mu       sync.Mutex // held while packs are listed
	snapshot atomic.Pointer[snapshot]
	files    files
	bases    bases
	large    chan struct{}
}

// New returns the database of these folders of objects: the repository's own,
// and its alternates. Nothing is read yet.
func New(dirs []string, format Format) *DB {
	return &DB{format: format, dirs: dirs, large: make(chan struct{}, 1)}
}

// Format is that of the repository.
func (db *DB) Format() Format { return db.format }

// Object is an object that was read.
type Object struct {
	Kind Kind
	Size int64
	// Data is its content. It is nil if the object is of another kind than
	// those asked for, or larger.
	Data []byte
}

// Read reads an object whose ID has the format's digits. Its content is returned
// if it is of the kinds given and has at most limit bytes, in scratch if it has
// room there, and has been held against the ID. The error matches ErrNotFound,
// ErrCorrupt or ErrTooLarge, or is one of reading files.
func (db *DB) Read(ctx context.Context, id ID, kinds Kinds, limit int64, scratch []byte) (Object, error) {
	limit = min(limit, maxMemory)
	// Almost always it is in the first place, and whole.
	if s := db.snapshot.Load(); s != nil && ctx.Err() == nil {
		if l, ok := s.first(id); ok {
			if o, err := db.readPacked(ctx, l, id, kinds, limit, scratch); err == nil {
				return o, nil
			}
		}
	}
	return db.lookAndRead(ctx, id, kinds, limit, scratch)
}

func (db *DB) lookAndRead(ctx context.Context, id ID, kinds Kinds, limit int64, scratch []byte) (o Object, err error) {
	err = db.look(ctx, id, func(from origin) (err error) {
		o, err = from.read(ctx, db, id, kinds, limit, scratch)
		return err
	})
	return o, err
}

// origin is where an object is: in a pack or in a file of its own.
type origin struct {
	location
	path string
}

func (from origin) read(ctx context.Context, db *DB, id ID, kinds Kinds, limit int64, scratch []byte) (Object, error) {
	if from.pack == nil {
		return db.readLoose(ctx, from.path, id, kinds, limit, scratch)
	}
	o, err := db.readPacked(ctx, from.location, id, kinds, limit, scratch)
	if err != nil {
		err = &FileError{Path: from.pack.data.path, Err: err}
	}
	return o, err
}

// maxLooks bounds how often packs are listed that are gone before they are read.
const maxLooks = 10

// look calls f with the places where an object is until it returns no error, and
// once more with those that there are then.
func (db *DB) look(ctx context.Context, id ID, f func(origin) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s, err := db.packs(nil)
	for looks := 1; err == nil; looks++ {
		err = db.lookIn(s, id, looks > 1, f)
		again := looks == 1 || looks < maxLooks && errors.Is(err, errGone)
		if err == nil || !again || errors.Is(err, ErrTooLarge) || ctx.Err() != nil {
			return err
		}
		s, err = db.packs(s)
	}
	return err
}

// lookIn returns the first error if no place is right.
func (db *DB) lookIn(s *snapshot, id ID, every bool, f func(origin) error) error {
	failed, done, gone := error(nil), false, false
	try := func(from origin) bool {
		err := f(from)
		done = err == nil
		if err != nil && failed == nil && !errors.Is(err, errGone) {
			failed = err
		}
		gone = gone || from.pack != nil && errors.Is(err, errGone)
		return done || errors.Is(err, ErrTooLarge)
	}
	err := s.find(id, every, func(l location) bool { return try(origin{location: l}) })
	if errors.Is(err, errGone) {
		gone = true
	} else if failed == nil {
		failed = err
	}
	text := db.format.Text(id)
	for _, dir := range db.dirs {
		if done || errors.Is(failed, ErrTooLarge) {
			break
		}
		try(origin{path: loosePath(dir, text)})
	}
	switch {
	case done:
		return nil
	case gone:
		return fmt.Errorf("%w: %w", ErrNotFound, errGone)
	case failed == nil:
		return ErrNotFound
	}
	return failed
}

// packs returns the packs as they are known, or lists them anew if those are all
// that is known.
func (db *DB) packs(known *snapshot) (*snapshot, error) {
	if s := db.snapshot.Load(); s != known {
		return s, nil
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	before := db.snapshot.Load()
	if before != known {
		return before, nil
	}
	s := &snapshot{}
	for i, dir := range db.dirs {
		var old *packDir
		if before != nil {
			old = before.dirs[i]
		}
		d, err := list(dir, &db.files, db.format, old)
		if err != nil {
			return nil, err
		}
		s.dirs = append(s.dirs, d)
	}
	db.bases.forget()
	db.snapshot.Store(s)
	return s, nil
}

func (db *DB) readPacked(ctx context.Context, l location, id ID, kinds Kinds, limit int64, scratch []byte) (Object, error) {
	c, err := l.pack.follow(ctx, l.pack.data, l.at, &db.bases)
	if err != nil {
		return Object{}, err
	}
	defer c.close()
	o := Object{Kind: c.kind, Size: c.size()}
	if !kinds.Has(o.Kind) || o.Size > limit {
		return o, nil
	}
	if c.largest > largeObject {
		if err := db.enter(ctx); err != nil {
			return o, err
		}
		defer db.leave()
	}
	if c.largest > maxMemory {
		s, err := l.pack.stream(ctx, l.at, &db.bases)
		if err != nil {
			return o, err
		}
		defer s.Close()
		o.Data, err = readSized(s, scratch, o.Size)
		return o, db.verify(o, id, err)
	}
	o.Data, err = c.unpack(ctx, l.pack.data, &db.bases, scratch)
	return o, db.verify(o, id, err)
}

func (db *DB) readLoose(ctx context.Context, path string, id ID, kinds Kinds, limit int64, scratch []byte) (Object, error) {
	l, err := openLoose(path)
	if err != nil {
		return Object{}, err
	}
	defer l.close()
	o := Object{Kind: l.kind, Size: l.size}
	if !kinds.Has(o.Kind) || o.Size > limit {
		return o, nil
	}
	if o.Size > largeObject {
		if err := db.enter(ctx); err != nil {
			return o, err
		}
		defer db.leave()
	}
	if o.Data, err = l.read(scratch); err == nil {
		err = db.verify(o, id, nil)
	}
	if err != nil {
		return o, &FileError{Path: path, Err: err}
	}
	return o, nil
}

// enter waits until no other large object is unpacked.
func (db *DB) enter(ctx context.Context) error {
	select {
	case db.large <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (db *DB) leave() { <-db.large }

// verify holds an object that was read without an error against its ID.
func (db *DB) verify(o Object, id ID, err error) error {
	if err != nil {
		return err
	}
	if got := db.format.Sum(o.Kind.String(), o.Data); got != id {
		return corruptf("its content is that of %s", db.format.Text(got))
	}
	return nil
}
