package divert

import (
	"encoding/json"
	"fmt"
)

// Outcome is what became of a workload that was to be put back.
type Outcome string

// The outcomes.
const (
	// OutcomeRestored: values were put back, or are with the Patch.
	OutcomeRestored Outcome = "restored"
	// OutcomeWhole: nothing of the agent was there any more.
	OutcomeWhole Outcome = "whole"
	// OutcomeGone: the Deployment, or the one of this UID, is not there any more.
	OutcomeGone Outcome = "gone"
	// OutcomeReplaced: the container runs neither the agent's image nor the original
	// one, and nothing of the agent was there that would be put back.
	OutcomeReplaced Outcome = "replaced"
)

// Restoration is what became of a workload that was to be put back, or what is to
// become of it.
type Restoration struct {
	Outcome Outcome `json:"outcome"`
	// Reason says why nothing was touched; empty for OutcomeRestored.
	Reason string `json:"reason,omitempty"`
	// Restored are the fields that are put back, as Value.Field.
	Restored []string `json:"restored,omitempty"`
	// Kept are those that somebody else has changed since, and that stay.
	Kept []Kept `json:"kept,omitempty"`
	// Patch is the JSON patch that does it; nil if there is nothing to do.
	Patch []byte `json:"-"`
}

// Kept is a field that somebody else has changed while it was the agent's.
type Kept struct {
	Field string `json:"field"`
	// Live is its value now, null if it has none; Original is the one before.
	Live     json.RawMessage `json:"live"`
	Original json.RawMessage `json:"original"`
}

// Then is a restoration that went on: what an earlier patch was to restore, and of which
// nothing is left to do, was restored.
func (r Restoration) Then(next Restoration) Restoration {
	rest := next.Outcome == OutcomeWhole || next.Outcome == OutcomeReplaced && len(next.Kept) > 0
	if r.Outcome == OutcomeRestored && rest {
		next.Outcome, next.Reason, next.Restored = r.Outcome, "", r.Restored
	}
	return next
}

// Restore decides how a Deployment that was read from the API server is put back, by
// three values of each field: what is still the agent's becomes the original; what is
// neither was changed by somebody else, and is kept and named. So it is for each field
// by itself: where somebody has set another image, the command that Git declares comes
// back to it. Nothing is done where the UID differs, or where the container's image is
// another session's agent. The error matches ErrInvalid: an object cannot be read.
func Restore(live []byte, d Diversion) (Restoration, error) {
	o, err := parse("on the cluster", live)
	if err != nil {
		return Restoration{}, err
	}
	return restore(o, d)
}

func restore(o deployment, d Diversion) (_ Restoration, err error) {
	if string(o.UID) != d.UID {
		return Restoration{Outcome: OutcomeGone, Reason: fmt.Sprintf("%s is another one of this name: its UID is %s, and %s was taken over", d.Subject, o.UID, d.UID)}, nil
	}
	i, c := o.container(d.Container)
	if c == nil {
		return Restoration{Outcome: OutcomeReplaced, Reason: fmt.Sprintf("%s has no container %q any more", d.Subject, d.Container)}, nil
	}
	ops := []operation{test("/metadata/uid", d.UID), test("/metadata/generation", o.Generation), test(at(i, "/name"), d.Container)}
	r := Restoration{Outcome: OutcomeWhole, Reason: "its spec has nothing of the agent"}
	if another(c.Image, d.Agent) {
		return Restoration{Outcome: OutcomeReplaced, Reason: fmt.Sprintf("container %q of %s runs %s, which is the agent of another session", d.Container, d.Subject, c.Image)}, nil
	}
	for _, v := range d.Values {
		live, has := o.value(i, v.Field)
		switch d.whose(live, has, v) {
		case original:
		case agents:
			r.Restored = append(r.Restored, v.Field)
			ops = append(ops, test(at(i, v.Field), live), replace(at(i, v.Field), v.Original))
		case others:
			k := Kept{Field: v.Field, Original: v.Original}
			if k.Live, err = json.Marshal(live); err != nil {
				return Restoration{}, fmt.Errorf("%w: %s of container %q: %w", ErrInvalid, v.Field, d.Container, err)
			}
			r.Kept = append(r.Kept, k)
			if v.Field == "/image" {
				r.Outcome, r.Reason = OutcomeReplaced, fmt.Sprintf("container %q of %s runs %s, which is not the agent of this session", d.Container, d.Subject, c.Image)
			}
		}
	}
	if len(r.Restored) == 0 {
		return r, nil
	}
	r.Outcome, r.Reason = OutcomeRestored, ""
	r.Patch, err = json.Marshal(ops)
	return r, err
}
