package reaper

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pharos-dev/pharos/internal/keys"
)

// Unlimited is a limit of a Tier that allows everything.
const Unlimited = -1

// MaxTierObjects is the most objects that a tier can have: its ledger holds an entry
// for each.
const MaxTierObjects = 4000

// Tier is what transient objects of one sort may take together. A limit of zero allows
// nothing.
type Tier struct {
	// Name is a DNS label of at most 40 characters.
	Name string
	// MaxTTL is how long an object may be there after its last activity, and how far
	// away its expiry may be, both with its grace. At most MaxDuration.
	MaxTTL time.Duration
	// MaxObjects is how many there may be at once, at most MaxTierObjects.
	MaxObjects int64
	// CPU is the sum of the requests in thousandths of a CPU, Memory in bytes; either
	// can be Unlimited.
	CPU    int64
	Memory int64
	// CreatesPerHour is how many may be created in any hour, or Unlimited.
	CreatesPerHour int64
}

// ErrTier is matched by the error of a Tier that is none.
var ErrTier = errors.New("not a tier")

// Check says what is wrong with the tier, all at once. The error is ErrTier.
func (t Tier) Check() error {
	var errs []error
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: "+format, append([]any{ErrTier}, args...)...))
	}
	if len(t.Name) > 40 || len(validation.IsDNS1123Label(t.Name)) > 0 {
		wrong("its name %s is no DNS label of at most 40 characters", quote(t.Name))
	}
	if t.MaxTTL < 0 || t.MaxTTL > MaxDuration || t.MaxTTL%time.Second != 0 {
		wrong("its longest TTL %s is not of whole seconds, up to %s", t.MaxTTL, FormatDuration(MaxDuration))
	}
	if t.MaxObjects < 0 || t.MaxObjects > MaxTierObjects {
		wrong("%d objects are not from 0 to %d", t.MaxObjects, MaxTierObjects)
	}
	for _, limit := range []struct {
		what string
		is   int64
	}{{"CPU", t.CPU}, {"memory", t.Memory}, {"creates per hour", t.CreatesPerHour}} {
		if limit.is < Unlimited {
			wrong("%d is no limit of %s, and none is %d", limit.is, limit.what, Unlimited)
		}
	}
	return errors.Join(errs...)
}

// checkIntent says what of the intent the tier does not allow whatever else there is:
// the error is ErrIntent for what is missing, and a *DeniedError for a TTL or an expiry
// that is too long.
func (t Tier) checkIntent(i Intent, now time.Time) error {
	var errs []error
	missing := func(key, why string) { errs = append(errs, &FieldError{key, errors.New(why)}) }
	if i.Kind != Transient {
		missing(keys.Intent, "what is created within a tier is transient")
	}
	if i.Owner == "" {
		missing(keys.Owner, "it has to say whom to ask about it")
	}
	if i.TTL == 0 && i.ExpiresAt.IsZero() {
		missing(keys.TTL, "it has to say when it ends, by this or by "+keys.ExpiresAt)
	}
	if i.TTL < 0 || i.Grace < 0 || i.TTL%time.Second != 0 || i.Grace%time.Second != 0 {
		missing(keys.TTL, "it is not of whole seconds, and neither is its grace")
	}
	if i.TTL > MaxDuration || i.Grace > MaxDuration {
		missing(keys.TTL, "it is longer than "+FormatDuration(MaxDuration)+", or its grace is")
	}
	if i.LastActive.Sub(now) > maxAhead {
		missing(keys.LastActive, "it is in the future")
	}
	if len(errs) == 0 {
		// What cannot be read back would never end.
		_, err := ReadIntent(i.write())
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	longest := i.TTL
	if !i.ExpiresAt.IsZero() {
		longest = max(longest, min(i.ExpiresAt.Sub(now), MaxDuration)) // which is more than any tier's
	}
	if longest += i.Grace; longest > t.MaxTTL || !i.ExpiresAt.IsZero() && i.ExpiresAt.Sub(now) > t.MaxTTL {
		return &DeniedError{Tier: t.Name, Denials: []Denial{{Limit: LimitTTL, Max: int64(t.MaxTTL / time.Second), Asked: int64(longest / time.Second)}}}
	}
	return nil
}
