package policy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
)

// Refusal is one rule that an object does not hold.
type Refusal struct {
	// Key is the label or annotation that it is about.
	Key string `json:"key"`
	// Message says what is wrong.
	Message string `json:"message"`
}

// Check says why the policy of a tier would have refused to have the object created,
// as it is now, at the time of its creation: nothing for what it would have admitted or
// does not look at.
func Check(o reaper.Object, t reaper.Tier) []Refusal {
	core := o.Group == ""
	if o.Owned || core && o.Kind == "ConfigMap" && o.Name == "kube-root-ca.crt" || core && o.Kind == "ServiceAccount" && o.Name == "default" {
		return nil
	}
	var all []Refusal
	refuse := func(key, format string, args ...any) { all = append(all, Refusal{key, fmt.Sprintf(format, args...)}) }
	intent, err := reaper.ReadIntent(o.Labels, o.Annotations)
	wrong := map[string]bool{}
	for _, err := range each(err) {
		if f, ok := errors.AsType[*reaper.FieldError](err); ok {
			wrong[f.Key] = true
			refuse(f.Key, "%v", f.Err)
		}
	}
	if intent.Kind != reaper.Transient && !wrong[keys.Intent] {
		refuse(keys.Intent, "it does not say that it is %s", reaper.Transient)
	}
	if intent.Owner == "" {
		refuse(keys.Owner, "it does not say whom to ask about it")
	}
	_, ttl := o.Annotations[keys.TTL]
	_, expires := o.Annotations[keys.ExpiresAt]
	if !ttl && !expires {
		refuse(keys.TTL, "it does not say when it ends")
	}
	if wrong[keys.Grace] {
		return all // and nothing can be added to it
	}
	if intent.TTL > 0 && intent.TTL+intent.Grace > t.MaxTTL {
		refuse(keys.TTL, "%s is longer than %s, which the tier %s keeps things for", reaper.FormatDuration(intent.TTL+intent.Grace), reaper.FormatDuration(t.MaxTTL), t.Name)
	}
	if end := intent.ExpiresAt.Add(intent.Grace); !intent.ExpiresAt.IsZero() && end.After(o.Created.Add(t.MaxTTL)) {
		refuse(keys.ExpiresAt, "%s is more than %s after its creation, which the tier %s keeps things for", reaper.FormatTime(end), reaper.FormatDuration(t.MaxTTL), t.Name)
	}
	return all
}

// each are the errors that are joined, or the one that is not.
func each(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// String is the refusal for people.
func (r Refusal) String() string { return strings.Join([]string{r.Key, r.Message}, ": ") }
