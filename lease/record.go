package lease

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/pharos-dev/pharos/internal/keys"
)

// stateOf reads a Lease as it stands at now. Whatever else may have been
// written into it, a Lease with a holder and no end is held until it is
// released: that refuses too much rather than too little.
func stateOf(l *coordinationv1.Lease, now time.Time, grace time.Duration) State {
	s := State{Now: now}
	if l == nil {
		return s
	}
	s.Token = token(l)
	s.Broken = parseBroken(l.Annotations[keys.LeaseBroken])
	s.Holder = ptr.Deref(l.Spec.HolderIdentity, "")
	if s.Holder == "" {
		return s
	}
	s.Mode = Mode(oneLine(l.Annotations[keys.LeaseMode]))
	s.User = oneLine(l.Annotations[keys.LeaseUser])
	s.Purpose = oneLine(l.Annotations[keys.LeasePurpose])
	s.Covers = parseCovers(l.Annotations[keys.LeaseCovers])
	if t := l.Spec.AcquireTime; t != nil {
		s.Acquired = readable(t.Time)
	}
	if t := l.Spec.RenewTime; t != nil {
		s.Renewed = readable(t.Time)
		if d := l.Spec.LeaseDurationSeconds; d != nil && !s.Renewed.IsZero() {
			s.Expires = readable(s.Renewed.Add(time.Duration(*d) * time.Second))
		}
	}
	s.Held = s.Expires.IsZero() || !now.After(s.Expires.Add(grace))
	return s
}

// readable returns a time that RFC 3339 can say, and so JSON: zero for any other.
func readable(t time.Time) time.Time {
	if t = t.UTC(); t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

// parseCovers returns what a lease covers. What cannot be read is empty, which
// means everything.
func parseCovers(text string) []string {
	var names []string
	if err := json.Unmarshal([]byte(text), &names); err != nil || slices.ContainsFunc(names, notAName) {
		return nil
	}
	return names
}

// notAName says that a name of what a lease covers is not one.
func notAName(name string) bool {
	return name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}

// maxText bounds what is for people, in bytes.
const maxText = 256

// isText says that s is fit to be written as something for people.
func isText(s string) bool {
	return len(s) <= maxText && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// oneLine makes what anybody may have written fit to be printed: on a terminal,
// control characters and those that turn the direction of text are commands.
func oneLine(s string) string {
	s = strings.ToValidUTF8(s[:min(len(s), maxText)], "")
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

// usedUp says that no acquisition can have a higher token.
func usedUp(l *coordinationv1.Lease) bool {
	return l != nil && ptr.Deref(l.Spec.LeaseTransitions, 0) == math.MaxInt32
}

func token(l *coordinationv1.Lease) int64 { return int64(ptr.Deref(l.Spec.LeaseTransitions, 0)) }

// firstToken is the token of the first acquisition of a Lease, at now: the seconds
// since 2026 began, at least 1. It is higher than all tokens of a Lease that was
// deleted before, unless that was acquired more than once a second.
func firstToken(now time.Time) int64 {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return min(max(1, int64(now.Sub(begin)/time.Second)), math.MaxInt32-1<<20)
}

// nextToken is the token of whoever acquires the Lease at now.
func nextToken(l *coordinationv1.Lease, now time.Time) *int32 {
	if t := token(l); t > 0 {
		return ptr.To(int32(t + 1))
	}
	return ptr.To(int32(firstToken(now)))
}

// acquired returns the Lease as holder acquires it at now, until expires if
// that is not zero. Whatever others put into l's metadata stays.
func acquired(l *coordinationv1.Lease, holder string, r Request, now, expires time.Time) *coordinationv1.Lease {
	l = l.DeepCopy()
	setAnnotation(l, keys.LeaseMode, string(r.Mode))
	setAnnotation(l, keys.LeaseUser, r.User)
	setAnnotation(l, keys.LeasePurpose, r.Purpose)
	covers := ""
	if len(r.Covers) > 0 {
		data, _ := json.Marshal(slices.Sorted(slices.Values(r.Covers))) // strings always marshal
		covers = string(data)
	}
	setAnnotation(l, keys.LeaseCovers, covers)
	l.Spec.HolderIdentity = ptr.To(holder)
	l.Spec.AcquireTime = ptr.To(metav1.NewMicroTime(now))
	l.Spec.LeaseTransitions = nextToken(l, now)
	setEnd(l, now, expires)
	return l
}

// retaken returns the Lease with a higher token.
func retaken(l *coordinationv1.Lease, now time.Time) *coordinationv1.Lease {
	l = l.DeepCopy()
	l.Spec.LeaseTransitions = nextToken(l, now)
	return l
}

// renewed returns the Lease with a later end.
func renewed(l *coordinationv1.Lease, now, expires time.Time) *coordinationv1.Lease {
	l = l.DeepCopy()
	setEnd(l, now, expires)
	return l
}

// restored returns the Lease with the end that it had before.
func restored(l, before *coordinationv1.Lease) *coordinationv1.Lease {
	l = l.DeepCopy()
	l.Spec.RenewTime, l.Spec.LeaseDurationSeconds = before.Spec.RenewTime, before.Spec.LeaseDurationSeconds
	setAnnotation(l, keys.LeaseExpires, before.Annotations[keys.LeaseExpires])
	return l
}

// released returns the Lease without a holder. Its token stays, for the next
// acquisition to count on from.
func released(l *coordinationv1.Lease) *coordinationv1.Lease {
	l = l.DeepCopy()
	for _, key := range []string{keys.LeaseMode, keys.LeaseUser, keys.LeasePurpose, keys.LeaseCovers, keys.LeaseExpires} {
		setAnnotation(l, key, "")
	}
	l.Spec = coordinationv1.LeaseSpec{LeaseTransitions: l.Spec.LeaseTransitions}
	return l
}

func setEnd(l *coordinationv1.Lease, now, expires time.Time) {
	l.Spec.RenewTime = ptr.To(metav1.NewMicroTime(now))
	if expires.IsZero() {
		l.Spec.LeaseDurationSeconds = nil
		setAnnotation(l, keys.LeaseExpires, "")
		return
	}
	// The server's times and all durations are in whole seconds.
	l.Spec.LeaseDurationSeconds = ptr.To(int32(expires.Sub(now) / time.Second))
	setAnnotation(l, keys.LeaseExpires, expires.UTC().Format(time.RFC3339))
}

func setAnnotation(l *coordinationv1.Lease, key, value string) {
	if value == "" {
		delete(l.Annotations, key)
		return
	}
	if l.Annotations == nil {
		l.Annotations = map[string]string{}
	}
	l.Annotations[key] = value
}
