package ephemeral

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
)

// Options say what the namespace is like. The zero value is a good one.
type Options struct {
	// For is what the namespace is for: its name begins with it, as far as a name can
	// hold it, and its owner says it. The default is the test's name, and without one
	// "test".
	For string
	// Owner is whom to ask about it, such as a person or the address of a CI job. It
	// stands before the test, the process and the host, which are said in any case. The
	// default is none.
	Owner string
	// TTL is how long the namespace stays when its process is gone, in whole seconds,
	// at least 5 s and at most [reaper.MaxDuration]. The default is 10 min.
	TTL time.Duration
	// Wait is how long to wait at the end until the namespace and all in it is gone. If
	// it is not by then, that is an error which says what is left. The default is not
	// to wait.
	Wait time.Duration
	// Labels and Annotations are the namespace's, beside those that make it ephemeral.
	// The default is none.
	Labels, Annotations map[string]string
	// Log receives what does not fail the test: heartbeats that fail, leftovers that
	// are or cannot be ended. The default is the test's log, and without one it is
	// discarded.
	Log *slog.Logger
}

// ErrInvalid is what is wrong with Options that contradict themselves or the grammar.
var ErrInvalid = errors.New("invalid options")

const (
	defaultTTL = 10 * time.Minute
	// shortestTTL leaves room for a heartbeat that is answered late, and for the
	// server's clock, which is told in whole seconds.
	shortestTTL = 5 * time.Second
)

// complete fills in the defaults and reports every rule that is broken.
func (o Options) complete() (Options, error) {
	o.For = cmp.Or(o.For, "test")
	o.TTL = cmp.Or(o.TTL, defaultTTL)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...))
	}
	if o.TTL < shortestTTL || o.TTL > reaper.MaxDuration || o.TTL%time.Second != 0 {
		bad("TTL is %s, want whole seconds, at least %s and at most %s", o.TTL, shortestTTL, reaper.FormatDuration(reaper.MaxDuration))
	}
	if o.Wait < 0 {
		bad("Wait is %s, want at least 0", o.Wait)
	}
	labels, annotations := o.marks("")
	for _, set := range []struct {
		field       string
		given, ours map[string]string
	}{{"Labels", o.Labels, labels}, {"Annotations", o.Annotations, annotations}} {
		for _, key := range slices.Sorted(maps.Keys(set.given)) {
			if _, taken := set.ours[key]; taken || key == keys.LastActive {
				bad("%s: %s is set by this package", set.field, key)
			}
		}
	}
	return o, errors.Join(errs...)
}

// marks are the labels and annotations that make a namespace ephemeral.
func (o Options) marks(owner string) (labels, annotations map[string]string) {
	return map[string]string{keys.Intent: string(reaper.Transient), keys.Ephemeral: "true"},
		map[string]string{keys.TTL: reaper.FormatDuration(o.TTL), keys.Owner: owner}
}

// owner says whose the namespace is.
func (o Options) owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown host"
	}
	s := fmt.Sprintf("%s, process %d of %s", o.For, os.Getpid(), host)
	if o.Owner != "" {
		s = o.Owner + ": " + s
	}
	return s
}
