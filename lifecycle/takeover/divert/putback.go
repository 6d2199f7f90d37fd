package divert

import (
	"context"
	"errors"
	"fmt"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// Restore puts a workload back: see the function Restore. Values that are the agent's
// are written in one patch, under the condition that they still are and that the
// Deployment is as it was read. A second one gives the fields back to who owned them
// (metadata.managedFields), so that nothing is left of the takeover, and the next
// delivery meets no conflict.
//
// It may be called again, also after it was killed at any point, and by several at
// once: it goes on with what is left. That a Deployment is gone, or runs something else
// by now, is no error: see Restoration.Outcome. Errors: ErrRejected if the API server
// does not accept it; ErrNotDelivered if it has the agent and is not the target's any
// more; the Guard's; ErrChanged if others write all the time. After an error the
// workload may be restored.
func (w *Writer) Restore(ctx context.Context, d Diversion) (Restoration, error) {
	var all Restoration
	var cause error // why the last write failed
	version := ""   // what it was made for
	for n := 1; n <= attempts; n++ {
		o, r, patch, err := w.next(ctx, d)
		if errors.Is(err, ErrGone) {
			return gone(d), nil
		}
		if err != nil {
			return all, err
		}
		all = all.Then(r)
		switch {
		case patch == nil:
			return all, nil
		case cause != nil && final(cause) && o.ResourceVersion == version:
			return all, rejected("restore", d.Subject, cause) // and not since somebody wrote
		}
		version = o.ResourceVersion
		if err := w.config.Guard(ctx); err != nil {
			return all, fmt.Errorf("restore %s: %w", d.Subject, err)
		}
		if _, cause = raw(w.patch(d.Subject, patch).Do(ctx)); cause == nil {
			continue
		}
		w.config.Log.Debug("restored again", "workload", d.Subject.String(), "attempt", n, "err", cause)
		if err := kubeclient.Pause(ctx, n, cause); err != nil {
			return all, w.fail("restore", d.Subject, err)
		}
	}
	return all, w.fail("restore", d.Subject, fmt.Errorf("%w, again and again: %w", ErrChanged, cause))
}

// next is what stands there, what has become of it, and the patch that is to be made
// next: that of the values, then that of their owners, then none.
func (w *Writer) next(ctx context.Context, d Diversion) (deployment, Restoration, []byte, error) {
	doc, err := w.Read(ctx, d.Subject)
	if err != nil {
		return deployment{}, Restoration{}, nil, err
	}
	o, err := parse("on the cluster", doc)
	if err != nil {
		return deployment{}, Restoration{}, nil, err
	}
	r, err := restore(o, d)
	switch label := o.Labels[keys.Target]; {
	case err == nil && r.Patch != nil && w.config.Target != "" && w.config.Target != label:
		return o, r, nil, fmt.Errorf("restore %s, which has the agent: %w: its label %s is %q, not %q\nPut the label back, or have the target deliver it: kubectl pharos reconcile",
			d.Subject, ErrNotDelivered, keys.Target, label, w.config.Target)
	case err != nil || r.Patch != nil:
		return o, r, r.Patch, err
	case r.Outcome == OutcomeGone:
		return o, r, nil, nil
	}
	patch, err := disown(o, d)
	return o, r, patch, err
}
