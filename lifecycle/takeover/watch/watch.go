package watch

import (
	"context"
	"errors"
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
	// goroutine at a time; what happens meanwhile is one Change when it returns.
	// Required.
	Changed func(Change)
	// Env is the environment, as "NAME=value", in which git runs, and in whose PATH
	// it is found. The default, nil, is to ignore nothing.
	Env []string

	// Quiet is how long no event has to come until files are read. The default is
	// 20 ms, within which an editor has written what it saves.
	Quiet time.Duration
	// Longest is after what time a burst of events is read even though it goes on.
	// The default is 500 ms.
	Longest time.Duration
	// Poll is how long to wait between two looks where there are no events. The
	// default is 500 ms.
	Poll time.Duration
	// Polling never asks for events.
	Polling bool
	// Watches is how many folders are watched by events at most. The default is
	// 20,000.
	Watches int
	// Most is how many files may count. The default is 200,000: some 50 MiB.
	Most int
}

// State is the content of all files that count: equal for equal trees. It is
// "sha256:" and hexadecimal digits, and no Git ID.
type State string

// Change is a State that is another than the one before.
type Change struct {
	State State
	// Paths are the files that were made, changed or removed, from Root and with
	// slashes, sorted: the first 100. The first Change has none.
	Paths []string
	// Others is how many more there are.
	Others int
	// Polling says why there are no events, for people. It is empty where there are.
	Polling string
}

// Run watches until ctx ends, and returns nil then. It returns when Root is gone
// or cannot be read; a file that cannot be read counts as one without content until
// it can.
func Run(ctx context.Context, c Config) error {
	return errors.ErrUnsupported
}
