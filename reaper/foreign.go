package reaper

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// Foreign is another tool whose keys say when an object ends.
type Foreign string

const (
	// Janitor is kube-janitor: the annotations janitor/ttl ("24h", "forever") and
	// janitor/expires ("2026-03-04", "2026-03-04T05:06Z", "…:07Z", in UTC).
	// Source: https://codeberg.org/hjacobs/kube-janitor
	Janitor Foreign = "janitor"
	// TTLController is k8s-ttl-controller: the annotation
	// k8s-ttl-controller.twin.sh/ttl, from …/refreshed-at on.
	// Source: https://github.com/TwiN/k8s-ttl-controller
	TTLController Foreign = "k8s-ttl-controller"
	// Kyverno: the label cleanup.kyverno.io/ttl, a duration or a time.
	// Source: https://kyverno.io/docs/policy-types/cleanup-policy/
	Kyverno Foreign = "kyverno"
	// Okteto: the annotation dev.okteto.com/last-updated is activity.
	Okteto Foreign = "okteto"
	// Loft: the annotation sleepmode.loft.sh/last-activity, in seconds since 1970, is
	// activity.
	Loft Foreign = "loft"
)

// Foreigners are all of them.
var Foreigners = []Foreign{Janitor, TTLController, Kyverno, Okteto, Loft}

// read reads the object's intent, by the foreign keys too.
func (r Rules) read(o Object) (Intent, error) {
	intent, err := ReadIntent(o.Labels, o.Annotations)
	if err != nil || intent.Kind == Retained {
		return intent, err
	}
	own := intent.Kind == Transient
	for _, f := range r.Foreign {
		i, ferr := f.read(o)
		if ferr != nil {
			err = errors.Join(err, ferr)
			continue
		}
		intent.LastActive = later(intent.LastActive, i.LastActive)
		if own || i.Kind == "" {
			continue // what it says of itself, it means
		}
		intent.Kind = i.Kind
		if i.Kind == Retained {
			return intent, err
		}
		if i.TTL > 0 && (intent.TTL == 0 || i.TTL < intent.TTL) {
			intent.TTL = i.TTL
		}
		if !i.ExpiresAt.IsZero() && (intent.ExpiresAt.IsZero() || i.ExpiresAt.Before(intent.ExpiresAt)) {
			intent.ExpiresAt = i.ExpiresAt
		}
	}
	return intent, err
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (f Foreign) read(o Object) (i Intent, err error) {
	r := reader{annotations: o.Annotations}
	switch f {
	case Janitor:
		if ttl, ok := o.Annotations["janitor/ttl"]; ok {
			if i.Kind = Transient; ttl == "forever" {
				return Intent{Kind: Retained}, nil
			}
			i.TTL = r.duration("janitor/ttl")
		}
		if at, ok := o.Annotations["janitor/expires"]; ok {
			i.Kind = Transient
			if i.ExpiresAt, err = inUTC(at); err != nil {
				r.wrong("janitor/expires", err)
			}
		}
	case TTLController:
		const ttl, refreshed = "k8s-ttl-controller.twin.sh/ttl", "k8s-ttl-controller.twin.sh/refreshed-at"
		if _, ok := o.Annotations[ttl]; ok {
			i.Kind, i.TTL, i.LastActive = Transient, r.goDuration(ttl), r.time(refreshed)
		}
	case Kyverno:
		const key = "cleanup.kyverno.io/ttl"
		value, ok := o.Labels[key]
		if !ok {
			return i, nil
		}
		i.Kind = Transient
		if i.ExpiresAt, err = kyvernoTime(value); err == nil {
			return i, nil
		}
		labels := reader{annotations: o.Labels}
		i.TTL = labels.goDuration(key)
		return i, errors.Join(labels.errs...)
	case Okteto:
		i.LastActive = r.time("dev.okteto.com/last-updated")
	case Loft:
		const key = "sleepmode.loft.sh/last-activity"
		if value, ok := o.Annotations[key]; ok {
			seconds, err := strconv.ParseInt(value, 10, 64)
			if err != nil || seconds <= 0 || seconds > 1<<40 {
				r.wrong(key, fmt.Errorf("%w: %s, want seconds since 1970", ErrTime, quote(value)))
				break
			}
			i.LastActive = time.Unix(seconds, 0)
		}
	}
	return i, errors.Join(r.errs...)
}

// goDuration reads a duration of ours or one of Go's, which may have parts of a
// second and units in any order.
func (r *reader) goDuration(key string) time.Duration {
	value := r.annotations[key]
	d, err := ParseDuration(value)
	if err == nil {
		return d
	}
	d, gerr := time.ParseDuration(value)
	if gerr != nil || d <= 0 || d > MaxDuration {
		r.wrong(key, err)
		return 0
	}
	return d
}

var janitorTime = regexp.MustCompile(`^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?Z)?$`)

// inUTC reads a time as kube-janitor writes it.
func inUTC(s string) (time.Time, error) {
	if janitorTime.MatchString(s) {
		for _, layout := range []string{"2006-01-02T15:04:05Z", "2006-01-02T15:04Z", "2006-01-02"} {
			if t, err := time.Parse(layout, s); err == nil {
				return t, nil
			}
		}
	}
	return time.Time{}, fmt.Errorf("%w: %s, want one such as 2026-03-04T05:06:07Z, 2026-03-04T05:06Z or 2026-03-04", ErrTime, quote(s))
}

var kyvernoForm = regexp.MustCompile(`^\d{4}-\d\d-\d\d(T\d{6}Z)?$`)

// kyvernoTime reads a time as a label can hold it.
func kyvernoTime(s string) (time.Time, error) {
	if kyvernoForm.MatchString(s) {
		for _, layout := range []string{"2006-01-02T150405Z", "2006-01-02"} {
			if t, err := time.Parse(layout, s); err == nil {
				return t, nil
			}
		}
	}
	return time.Time{}, ErrTime
}
