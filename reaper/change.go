package reaper

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pharos-dev/pharos/internal/keys"
)

// Change is how an object is changed.
type Change struct {
	// DryRun has the server check the change, and not make it.
	DryRun bool
}

// Touch says that the object is in use at this time of the API server's clock, from
// which its TTL counts anew, and returns it as it is then. What has no TTL is not
// longer there by it. It takes no more than the right to patch.
//
// The UID is a precondition: another object of this name is not touched, and the error
// is ErrGone. It is ErrEnding if the object is being deleted.
func (c *Client) Touch(ctx context.Context, r Ref, how Change) (Object, error) {
	o, err := c.touch(ctx, r, how)
	return o, fail("touch", r, err)
}

func (c *Client) touch(ctx context.Context, r Ref, how Change) (Object, error) {
	if err := r.check(); err != nil {
		return Object{}, err
	}
	if _, err := c.Now(ctx); err != nil {
		return Object{}, err
	}
	// Of each try: one that is late must not say that the activity was before.
	now := func() map[string]any { return map[string]any{keys.LastActive: FormatTime(c.clock.Now())} }
	return c.patch(ctx, r, "", nil, now, how.DryRun)
}

// Retain says that the object stays until a person deletes it, and returns it as it is
// then. When it was to end is forgotten, so that it does not end at once if somebody
// makes it transient later. What has Owners goes with them all the same, which whoever
// shows the object should say. It takes no more than the right to patch; the UID is a
// precondition, and the errors are those of Touch.
func (c *Client) Retain(ctx context.Context, r Ref, how Change) (Object, error) {
	if err := r.check(); err != nil {
		return Object{}, fail("retain", r, err)
	}
	o, err := c.patch(ctx, r, "", map[string]any{keys.Intent: string(Retained)}, always(map[string]any{
		keys.TTL: nil, keys.ExpiresAt: nil, keys.LastActive: nil, keys.Grace: nil, keys.OnExpiry: nil, keys.Ending: nil,
	}), how.DryRun)
	return o, fail("retain", r, err)
}

// maxConflicts is how often Extend and Create begin anew when others wrote in between.
const maxConflicts = 20

// Extend keeps the object for at least d from now, by the API server's clock, and
// returns it as it is then. It counts as activity; a TTL that is shorter than d, and an
// expiry before its end, are moved there, and no end is ever moved closer. What had no
// end has one then. It needs the rights to get and to patch.
//
// The UID and the resourceVersion that the change was decided by are preconditions; on
// a conflict it decides anew. The error is ErrNotTransient if the object does not say
// that it ends, ErrIntent if that cannot be read, ErrDuration if d is not positive or
// longer than MaxDuration, and else one of Touch's or ErrConflict.
func (c *Client) Extend(ctx context.Context, r Ref, d time.Duration, how Change) (Object, error) {
	o, err := c.extend(ctx, r, d, how)
	return o, fail("extend", r, err)
}

func (c *Client) extend(ctx context.Context, r Ref, d time.Duration, how Change) (Object, error) {
	if err := r.check(); err != nil {
		return Object{}, err
	}
	if d < time.Second || d > MaxDuration {
		return Object{}, fmt.Errorf("%w: %s is not from 1s to %s", ErrDuration, d, FormatDuration(MaxDuration))
	}
	for try := 0; ; try++ {
		o, err := c.get(ctx, r)
		switch {
		case err != nil:
			return o, err
		case o.UID != r.UID:
			return o, fmt.Errorf("%w: another one, with the UID %s, has its name", ErrGone, o.UID)
		case !o.Deleted.IsZero():
			return o, ErrEnding
		}
		annotations, err := extended(o, d, c.clock.Now())
		if err != nil {
			return o, err
		}
		o, err = c.patch(ctx, r, o.ResourceVersion, nil, always(annotations), how.DryRun)
		switch {
		case !apierrors.IsConflict(err) || otherUID(err):
			return o, err
		case try == maxConflicts:
			return o, fmt.Errorf("%w: %w", ErrConflict, err)
		}
	}
}

// extended are the annotations by which the object stays for at least d.
func extended(o Object, d time.Duration, now time.Time) (map[string]any, error) {
	intent, err := ReadIntent(o.Labels, o.Annotations)
	switch {
	case err != nil:
		return nil, err
	case intent.Kind != Transient:
		return nil, ErrNotTransient
	}
	// In whole seconds, which is what can be written.
	d = (d + time.Second - 1).Truncate(time.Second)
	now = now.Truncate(time.Second)
	active := later(now, intent.LastActive)
	if active.Sub(now) > maxAhead {
		active = now // nothing ends by such a one
	}
	a := map[string]any{keys.LastActive: FormatTime(active), keys.Ending: nil}
	if intent.TTL > 0 && intent.TTL < d {
		a[keys.TTL] = FormatDuration(d)
	}
	none := intent.TTL == 0 && intent.ExpiresAt.IsZero()
	if end := now.Add(d); none || !intent.ExpiresAt.IsZero() && intent.ExpiresAt.Before(end) {
		a[keys.ExpiresAt] = FormatTime(end)
	}
	return a, nil
}
