package watch

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// maxDirty is how many paths are looked at one by one; of more, everything is.
const maxDirty = 4096

// errEvents says that there are no events, and why.
var errEvents = errors.New("there are no file events")

// events watches by events, and by polling where, or as long as, there are none.
func (w *watcher) events(ctx context.Context) error {
	if kind := remote(w.config.Root); kind != "" {
		return w.poll(ctx, fmt.Sprintf("%s is on a file system (%s) that does not tell what others write", w.config.Root, kind), 0)
	}
	for {
		err := w.session(ctx)
		if errors.Is(err, errEvents) {
			err = w.poll(ctx, err.Error(), w.config.Again)
		}
		if err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// session watches with one set of watches, until it has to be made anew: events are
// lost, or what the system knows as one folder is another by now. It returns nil then.
func (w *watcher) session(ctx context.Context) error {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("%w: %w%s", errEvents, err, limit(err))
	}
	// The library holds the lock that Add and Close need while it waits for somebody
	// to take an error.
	failed, drained := make(chan struct{}, 1), make(chan struct{})
	defer func() {
		_ = notify.Close()
		<-drained
	}()
	go func() {
		defer close(drained)
		for range notify.Errors { // until Close
			select {
			case failed <- struct{}{}:
			default:
			}
		}
	}()
	count := 0
	w.tree.watch = func(dir string) error {
		if count++; count > w.config.Watches {
			return fmt.Errorf("%w of more than %d folders", errEvents, w.config.Watches)
		}
		if err := notify.Add(dir); err != nil && !passing(err) {
			return fmt.Errorf("%w of %s: %w%s", errEvents, dir, err, limit(err))
		}
		return nil
	}
	defer func() { w.tree.watch = nil }()
	// Events wait in the system while everything is looked at.
	if err := w.tree.refresh(); err != nil {
		return err
	}
	w.polling = ""
	w.tell()
	for {
		dirty, lost, err := w.burst(ctx, notify.Events, failed)
		if err != nil || lost || ctx.Err() != nil {
			return err
		}
		for name := range dirty {
			if err := w.tree.look(name); err != nil {
				return err
			}
		}
		if w.tree.stale {
			return nil
		}
		w.tell()
	}
}

// limit names the limit of the system that an error stands for, whose own text does not.
func limit(err error) string {
	switch {
	case runtime.GOOS == "linux" && errors.Is(err, syscall.ENOSPC):
		return " (it is that of inotify: raise sysctl fs.inotify.max_user_watches)"
	case runtime.GOOS == "linux" && errors.Is(err, syscall.EMFILE):
		return " (raise sysctl fs.inotify.max_user_instances, or ulimit -n)"
	case errors.Is(err, syscall.EMFILE):
		return " (raise ulimit -n)"
	}
	return ""
}

// burst waits for events, and until there are none for a while. lost says that
// everything has to be looked at anew.
func (w *watcher) burst(ctx context.Context, events <-chan fsnotify.Event, failed <-chan struct{}) (dirty map[string]struct{}, lost bool, err error) {
	dirty = map[string]struct{}{}
	quiet := time.NewTimer(time.Hour)
	defer quiet.Stop()
	var first time.Time
	for {
		select {
		case <-ctx.Done():
			return nil, false, nil
		case event, ok := <-events:
			if !ok {
				return nil, false, fmt.Errorf("%w any more", errEvents)
			}
			if event.Name == "" {
				continue
			}
			name, err := w.name(event.Name)
			if err != nil {
				continue
			}
			if len(dirty) < maxDirty {
				dirty[name] = struct{}{}
			} else {
				lost = true
			}
			// The system follows a folder that is renamed under its old name.
			if _, folder := w.tree.dirs[name]; folder && event.Has(fsnotify.Rename|fsnotify.Remove) {
				lost = true
			}
		case <-failed:
			lost = true // more events than the system keeps, mostly
		case <-quiet.C:
			return dirty, lost, nil
		}
		now := time.Now()
		if first.IsZero() {
			first = now
		}
		quiet.Reset(max(0, min(w.config.Quiet, w.config.Longest-now.Sub(first))))
	}
}

// name is a file's path from the root, with slashes.
func (w *watcher) name(place string) (string, error) {
	name, err := filepath.Rel(w.config.Root, place)
	return filepath.ToSlash(name), err
}

// poll looks at everything again and again, and returns nil when it is time to look for
// events; 0 is never.
func (w *watcher) poll(ctx context.Context, reason string, events time.Duration) error {
	w.polling = reason
	if err := w.tree.refresh(); err != nil {
		return err
	}
	w.tell()
	wait := w.config.Poll
	for start := time.Now(); events == 0 || time.Since(start) < events; {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		begun := time.Now()
		if err := w.tree.scan(); err != nil {
			return err
		}
		if w.tree.stale {
			if err := w.tree.refresh(); err != nil {
				return err
			}
		}
		w.tell()
		wait = max(w.config.Poll, 9*time.Since(begun))
	}
	return nil
}
