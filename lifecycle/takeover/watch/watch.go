package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/pharos-dev/pharos/catalogue"
)

var (
	// ErrInvalid is returned for a Config that breaks a rule.
	ErrInvalid = errors.New("invalid")
	// ErrTooMany is returned when the patterns choose more than Config.Most files.
	ErrTooMany = errors.New("too many files to watch")
)

// Config says what is watched, and how.
type Config struct {
	// Root is the working tree's folder, absolute. Required.
	Root string
	// Files chooses the files that count, by their path from Root. Required.
	Files catalogue.Patterns
	// Changed is told the first State, and then each other one. It is called by one
	// goroutine; what happens meanwhile is one Change when it returns. Required.
	Changed func(Change)
	// Env is the environment, as "NAME=value", in which git runs, and in whose PATH
	// it is found. Without a git there nothing is ignored.
	Env []string

	// Quiet is how long no event has to come until files are read. The default is
	// 20 ms, within which an editor has written what it saves.
	Quiet time.Duration
	// Longest is after what time a burst of events is read even though it goes on.
	// The default is 500 ms.
	Longest time.Duration
	// Poll is how long to wait between two looks where there are no events, or nine
	// times what a look takes, if that is longer. The default is 500 ms.
	Poll time.Duration
	// Polling never asks for events.
	Polling bool
	// Again is how long Run waits at most until it tries again what has failed: events
	// that could not be had, or a look at the files. The default is 1 min. After a look
	// that failed it begins with Poll, which doubles.
	Again time.Duration
	// Watches is how many folders are watched by events at most. The default is
	// 20,000.
	Watches int
	// Most is how many files may count. The default is 100,000, for which some 50 MiB
	// of memory are needed.
	Most int
}

// State is the content of all files that count: the same for the same content, and
// another one for another, unless somebody takes pains that it is not. It is 64
// hexadecimal digits, and no Git ID.
type State string

// Change is a State that is another than the one before, or the same one when it is
// another way in which it is come by.
type Change struct {
	State State
	// Paths are the files that were made, changed or removed, from Root and with
	// slashes, sorted: up to 100. The first Change has none.
	Paths []string
	// Others is how many more there are.
	Others int
	// Polling says why there are no events, for people. It is empty where there are.
	Polling string
	// Trouble says why nothing is seen for now, for people: State is the last one that
	// was. That is tried again, and the first Change without it says that it works, and
	// what has changed meanwhile.
	Trouble string
}

// Run watches until ctx ends, and returns nil then. Before the first Change it returns
// an error when Root is gone or cannot be read, when git fails in a repository, and,
// with ErrTooMany, when there are too many files. After that these are a
// Change.Trouble, and are tried again. A file that cannot be read counts as one without
// content until it can.
func Run(ctx context.Context, c Config) error {
	c, err := c.complete()
	if err != nil {
		return err
	}
	ignored, err := newIgnored(ctx, c.Root, c.Env)
	if err != nil {
		return err
	}
	defer ignored.close()
	w := &watcher{config: c, tree: newTree(c, ignored), ignored: ignored}
	return w.run(ctx)
}

func (c Config) complete() (Config, error) {
	var errs []error
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...))
	}
	if !filepath.IsAbs(c.Root) {
		wrong("Root is %q, and has to be an absolute path", c.Root)
	}
	if len(c.Files.Strings()) == 0 {
		wrong("Files has no patterns")
	}
	if c.Changed == nil {
		wrong("Changed is missing")
	}
	for name, d := range map[string]time.Duration{"Quiet": c.Quiet, "Longest": c.Longest, "Poll": c.Poll, "Again": c.Again} {
		if d < 0 {
			wrong("%s is %s", name, d)
		}
	}
	if c.Watches < 0 || c.Most < 0 {
		wrong("Watches is %d and Most is %d", c.Watches, c.Most)
	}
	if len(errs) > 0 {
		return c, errors.Join(errs...)
	}
	c.Quiet = cmp.Or(c.Quiet, 20*time.Millisecond)
	c.Longest = cmp.Or(c.Longest, 500*time.Millisecond)
	c.Poll = cmp.Or(c.Poll, 500*time.Millisecond)
	c.Again = cmp.Or(c.Again, time.Minute)
	c.Watches = cmp.Or(c.Watches, 20_000)
	c.Most = cmp.Or(c.Most, 100_000)
	root, err := filepath.EvalSymlinks(c.Root)
	if err != nil {
		return c, fmt.Errorf("watch %s: %w", c.Root, err)
	}
	c.Root = root
	return c, nil
}

// watcher is one Run.
type watcher struct {
	config  Config
	tree    *tree
	ignored *ignored
	polling string
	last    *Change
}

// run watches, and begins anew when that fails after it has worked.
func (w *watcher) run(ctx context.Context) error {
	pause := w.config.Poll
	for {
		begun := time.Now()
		err := w.watch(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case w.last == nil:
			return err
		case time.Since(begun) > w.config.Again:
			pause = w.config.Poll
		}
		w.fail(err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		pause = min(2*pause, w.config.Again)
	}
}

// watch watches until that fails.
func (w *watcher) watch(ctx context.Context) error {
	if w.config.Polling {
		return w.poll(ctx, "as it was asked for", 0)
	}
	return w.events(ctx)
}

// tell tells the tree's State, unless it was told.
func (w *watcher) tell() {
	state, paths, others := w.tree.report()
	c := Change{State: state, Paths: paths, Others: others, Polling: w.polling}
	if w.last == nil {
		c.Paths, c.Others = nil, 0
	} else if c.State == w.last.State && c.Polling == w.last.Polling && w.last.Trouble == "" {
		return
	}
	w.last = &c
	w.config.Changed(c)
}

// fail tells why nothing is seen, unless it was told.
func (w *watcher) fail(err error) {
	if err.Error() == w.last.Trouble {
		return
	}
	w.last = &Change{State: w.last.State, Polling: w.last.Polling, Trouble: err.Error()}
	w.config.Changed(*w.last)
}
