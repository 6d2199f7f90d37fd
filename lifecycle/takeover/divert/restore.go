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
	// one, so that nothing was touched.
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

// Restore decides how a Deployment that was read from the API server is put back, by
// three values of each field: what is still the agent's becomes the original; what is
// neither was changed by somebody else, and is kept and named. Nothing is done where
// the UID differs, or where the container's image is neither the agent's, by its
// digest, nor the original one. The error matches ErrInvalid: an object cannot be read.
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
	r := Restoration{Outcome: OutcomeWhole, Reason: "nothing of the agent is there"}
	for _, v := range d.Values {
		live, has := o.value(i, v.Field)
		switch {
		case has && same(live, v.Original):
		case has && d.isAgent(live, v):
			r.Restored = append(r.Restored, v.Field)
			ops = append(ops, test(at(i, v.Field), live), replace(at(i, v.Field), v.Original))
		case v.Field == "/image":
			return Restoration{Outcome: OutcomeReplaced, Reason: fmt.Sprintf("container %q of %s runs %s, which is not the agent of this session", d.Container, d.Subject, c.Image)}, nil
		default:
			k := Kept{Field: v.Field, Original: v.Original}
			if k.Live, err = json.Marshal(live); err != nil {
				return Restoration{}, fmt.Errorf("%w: %s of container %q: %w", ErrInvalid, v.Field, d.Container, err)
			}
			r.Kept = append(r.Kept, k)
		}
	}
	if len(r.Restored) == 0 {
		return r, nil
	}
	r.Outcome, r.Reason = OutcomeRestored, ""
	r.Patch, err = json.Marshal(ops)
	return r, err
}

// isAgent says whether a value is still the agent's. Its image is known by its digest:
// the same one may be named by a mirror.
func (d Diversion) isAgent(live any, v Value) bool {
	if text, ok := live.(string); ok && v.Field == "/image" {
		return digestOf(text) != "" && digestOf(text) == digestOf(d.Agent)
	}
	return same(live, v.Agent)
}

// diverted says whether all values are the agent's.
func (d Diversion) diverted(o deployment) bool {
	i, _ := o.container(d.Container)
	for _, v := range d.Values {
		live, has := o.value(i, v.Field)
		if !has || !d.isAgent(live, v) {
			return false
		}
	}
	return string(o.UID) == d.UID && len(d.Values) > 0
}
