package reaper

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Foreign is another tool whose keys say when an object ends.
type Foreign string

const (
	// Janitor is kube-janitor: the annotations janitor/ttl ("24h", "forever") and
	// janitor/expires ("2026-03-04", "2026-03-04T05:06", "2026-03-04T05:06:07Z", all in
	// UTC).
	// Source: https://codeberg.org/hjacobs/kube-janitor, kube_janitor/helper.py
	Janitor Foreign = "janitor"
	// TTLController is k8s-ttl-controller: the annotation
	// k8s-ttl-controller.twin.sh/ttl, from …/refreshed-at on, which is RFC 3339.
	// Source: https://github.com/TwiN/k8s-ttl-controller, main.go
	TTLController Foreign = "k8s-ttl-controller"
	// Kyverno: the label cleanup.kyverno.io/ttl, a duration or a time in UTC
	// ("2026-03-04T050607Z", "2026-03-04").
	// Source: https://github.com/kyverno/kyverno, pkg/controllers/ttl/utils.go
	Kyverno Foreign = "kyverno"
	// Okteto: the annotation dev.okteto.com/last-updated, in UTC without a zone
	// ("2026-03-04T05:06:07"), is activity.
	// Source: https://github.com/okteto/okteto, pkg/constants
	Okteto Foreign = "okteto"
	// Loft: the annotation sleepmode.loft.sh/last-activity, in seconds since 1970, is
	// activity.
	// Source: https://github.com/loft-sh/devpod, which reads it
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
			if i.Kind = Transient; strings.EqualFold(ttl, "forever") {
				return Intent{Kind: Retained}, nil
			}
			i.TTL = r.duration("janitor/ttl")
		}
		if at, ok := o.Annotations["janitor/expires"]; ok {
			i.Kind = Transient
			if i.ExpiresAt, err = inUTC(at, "2006-01-02T15:04:05Z", "2006-01-02T15:04", "2006-01-02"); err != nil {
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
		if strings.Contains(value, "-") { // which no duration has
			if i.ExpiresAt, err = inUTC(value, "2006-01-02T150405Z", "2006-01-02"); err != nil {
				r.wrong(key, err)
			}
			break
		}
		r.annotations = o.Labels
		i.TTL = r.goDuration(key)
	case Okteto:
		const key = "dev.okteto.com/last-updated"
		if value, ok := o.Annotations[key]; ok {
			if i.LastActive, err = inUTC(value, "2006-01-02T15:04:05"); err != nil {
				r.wrong(key, err)
			}
		}
	case Loft:
		const key = "sleepmode.loft.sh/last-activity"
		if value, ok := o.Annotations[key]; ok {
			seconds, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				err = fmt.Errorf("%w: %s, want seconds since 1970", ErrTime, quote(value))
			} else {
				i.LastActive, err = within(time.Unix(seconds, 0).UTC(), value)
			}
			if err != nil {
				r.wrong(key, err)
			}
		}
	default:
		return i, fmt.Errorf("%w: there are no foreign keys of %s", ErrIntent, quote(string(f)))
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

// inUTC reads a time of UTC in one of these layouts, to the letter.
func inUTC(s string, layouts ...string) (time.Time, error) {
	for _, layout := range layouts {
		// Parse is lenient in details; what is written again as it was read has none.
		if t, err := time.Parse(layout, s); err == nil && t.Format(layout) == s {
			return within(t, s)
		}
	}
	return time.Time{}, fmt.Errorf("%w: %s, want the form %s", ErrTime, quote(s), strings.Join(layouts, " or "))
}
