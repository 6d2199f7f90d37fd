package reaper

import (
	"errors"
	"fmt"
	"time"

	"github.com/pharos-dev/pharos/internal/keys"
)

// Kind is the value of the label pharos.dev/intent.
type Kind string

const (
	// Transient is what is to end.
	Transient Kind = "transient"
	// Retained is what is to stay until a person deletes it.
	Retained Kind = "retained"
)

// Intent says how long an object is meant to be there. The zero value says nothing
// and is that of most objects.
type Intent struct {
	Kind Kind
	// TTL is how long it stays after the last activity; zero if that does not end it.
	TTL time.Duration
	// ExpiresAt is when it ends whatever happens; zero if there is no such time.
	ExpiresAt time.Time
	// LastActive is the last activity that somebody recorded, or zero: that counts
	// from the creation then.
	LastActive time.Time
	// Grace is how long after its end it is still left alone.
	Grace time.Duration
	// Owner is whom to ask about it.
	Owner string
}

// ErrIntent is what is wrong with an intent that cannot be read.
var ErrIntent = errors.New("the intent cannot be read")

// FieldError is a label or annotation whose value is not what its grammar says. It is
// ErrIntent.
type FieldError struct {
	Key string
	Err error
}

func (e *FieldError) Error() string { return e.Key + ": " + e.Err.Error() }

// Unwrap returns ErrIntent and the cause.
func (e *FieldError) Unwrap() []error { return []error{ErrIntent, e.Err} }

// ReadIntent reads an object's intent from its labels and annotations. The error
// joins a *FieldError for each value that is wrong; nothing may end by an intent with
// an error.
func ReadIntent(labels, annotations map[string]string) (Intent, error) {
	r := reader{annotations: annotations}
	i := Intent{Kind: Kind(labels[keys.Intent]), Owner: annotations[keys.Owner]}
	if kind, said := labels[keys.Intent]; said && i.Kind != Transient && i.Kind != Retained {
		r.wrong(keys.Intent, fmt.Errorf("%s is neither %s nor %s", quote(kind), Transient, Retained))
	}
	if value, said := annotations[keys.OnExpiry]; said {
		r.wrong(keys.OnExpiry, fmt.Errorf("%s is not known, nothing else than to be deleted can become of it: remove the annotation", quote(value)))
	}
	i.TTL = r.duration(keys.TTL)
	i.Grace = r.duration(keys.Grace)
	i.ExpiresAt = r.time(keys.ExpiresAt)
	i.LastActive = r.time(keys.LastActive)
	return i, errors.Join(r.errs...)
}

// Deadline is when the object is to be deleted that was created then: the earlier of
// the end of its TTL and ExpiresAt, and the Grace. It returns false if nothing says
// when it ends.
func (i Intent) Deadline(created time.Time) (time.Time, bool) {
	end := i.ExpiresAt
	if i.TTL > 0 {
		activity := created
		if i.LastActive.After(activity) {
			activity = i.LastActive
		}
		if of := activity.Add(i.TTL); end.IsZero() || of.Before(end) {
			end = of
		}
	}
	if end.IsZero() {
		return time.Time{}, false
	}
	return end.Add(i.Grace), true
}

// write returns the labels and annotations that say the intent.
func (i Intent) write() (labels, annotations map[string]string) {
	labels, annotations = map[string]string{keys.Intent: string(i.Kind)}, map[string]string{}
	for key, d := range map[string]time.Duration{keys.TTL: i.TTL, keys.Grace: i.Grace} {
		if d > 0 {
			annotations[key] = FormatDuration(d)
		}
	}
	for key, t := range map[string]time.Time{keys.ExpiresAt: i.ExpiresAt, keys.LastActive: i.LastActive} {
		if !t.IsZero() {
			annotations[key] = FormatTime(t)
		}
	}
	if i.Owner != "" {
		annotations[keys.Owner] = i.Owner
	}
	return labels, annotations
}

// reader reads annotations and collects what is wrong with them.
type reader struct {
	annotations map[string]string
	errs        []error
}

func (r *reader) wrong(key string, err error) { r.errs = append(r.errs, &FieldError{key, err}) }

func (r *reader) duration(key string) time.Duration {
	value, ok := r.annotations[key]
	if !ok {
		return 0
	}
	d, err := ParseDuration(value)
	if err != nil {
		r.wrong(key, err)
	}
	return d
}

func (r *reader) time(key string) time.Time {
	value, ok := r.annotations[key]
	if !ok {
		return time.Time{}
	}
	t, err := ParseTime(value)
	if err != nil {
		r.wrong(key, err)
	}
	return t
}
