package reaper

import (
	"fmt"
	"time"

	"github.com/pharos-dev/pharos/internal/keys"
)

// Verdict says what is to be done with an object.
type Verdict string

const (
	// Keep: nothing says that it ends, or its end is another's business.
	Keep Verdict = "keep"
	// Wait: it ends, and not yet. See Decision.Deadline.
	Wait Verdict = "wait"
	// Delete: it is past its end.
	Delete Verdict = "delete"
	// Refuse: it says that it ends, and must not or cannot be ended: a person has to
	// look.
	Refuse Verdict = "refuse"
)

// Reason is why, as one word for programs.
type Reason string

// The reasons of a Decision.
const (
	NoIntent      Reason = "NoIntent"      // Keep: it does not say that it ends
	IsRetained    Reason = "Retained"      // Keep: it says that it stays
	Terminating   Reason = "Terminating"   // Keep: it is being deleted
	Owned         Reason = "Owned"         // Keep: it ends with its owner
	NotDue        Reason = "NotDue"        // Wait
	Due           Reason = "Due"           // Delete
	BadIntent     Reason = "BadIntent"     // Refuse: a value cannot be read
	NoEnd         Reason = "NoEnd"         // Refuse: transient, and nothing says until when
	NotCreated    Reason = "NotCreated"    // Refuse: it has no UID or time of creation
	ProtectedName Reason = "ProtectedName" // Refuse: it is the system's
	KeptBy        Reason = "KeptBy"        // Refuse: another tool's mark says that it stays
	DeclaredBy    Reason = "DeclaredBy"    // Refuse: something declares it
	Holds         Reason = "Holds"         // Refuse: what is to outlive it would go with it
)

// Decision is what is to be done with an object, and why.
type Decision struct {
	Verdict Verdict `json:"verdict"`
	Reason  Reason  `json:"reason"`
	// Message is the reason for people: what is the case, and for Refuse what to do.
	Message string `json:"message"`
	// Deadline is when it is past its end, with Wait and Delete.
	Deadline time.Time `json:"deadline,omitzero"`
}

// Rules are what a decision depends on beside the object. The zero value reads only
// Pharos's own keys and protects only the system's names.
type Rules struct {
	// Foreign are the tools whose keys say that an object ends, in addition to ours.
	// None by default. Keys that say that an object stays always count.
	Foreign []Foreign
	// ProtectedNamespaces are namespaces in which nothing is ended, and that are not
	// ended, in addition to those that begin with "kube-": those that Pharos itself
	// lives in.
	ProtectedNamespaces []string
}

// Decide says what is to be done with the object at this time of the API server's
// clock. It is a pure function of what it is given. Delete for a Namespace holds only
// if nothing in it Outlives it, which the caller has to look for.
func (r Rules) Decide(o Object, now time.Time) Decision {
	intent, err := r.read(o)
	switch {
	case err == nil && intent.Kind == "":
		return Decision{Verdict: Keep, Reason: NoIntent, Message: "nothing says that it ends"}
	case err == nil && intent.Kind == Retained:
		return Decision{Verdict: Keep, Reason: IsRetained, Message: "it says that it is retained"}
	case !o.Deleted.IsZero():
		return Decision{Verdict: Keep, Reason: Terminating, Message: fmt.Sprintf("it is being deleted since %s", FormatTime(o.Deleted))}
	case o.Owned:
		return Decision{Verdict: Keep, Reason: Owned, Message: "it ends with its owner"}
	case err != nil:
		return refuse(BadIntent, err.Error())
	case o.UID == "" || o.Created.IsZero():
		return refuse(NotCreated, "it has no UID or no time of creation, so that it cannot be told from another one of this name")
	}
	if ahead := intent.LastActive.Sub(now); ahead > maxAhead {
		return refuse(BadIntent, "its last activity, "+FormatTime(intent.LastActive)+", is in the future, and would keep it for as long: touch it")
	}
	if why := r.protects(o); why != "" {
		return refuse(ProtectedName, why)
	}
	if mark := keptBy(o); mark != "" {
		return refuse(KeptBy, "it is transient, and "+mark+" says that it stays: remove one of them")
	}
	if by := declaredBy(o); by != nil {
		return refuse(DeclaredBy, "it is transient, and "+by.mark+" says that "+by.tool+" declares it: remove one of them, or delete it there")
	}
	if o.Group == "apiextensions.k8s.io" && o.Kind == "CustomResourceDefinition" {
		return refuse(Holds, "it is transient, and all objects of its kind would go with it, whatever they say: delete it by hand")
	}
	deadline, ends := intent.Deadline(o.Created)
	switch {
	case !ends:
		return refuse(NoEnd, "it is transient, and nothing says until when: annotate it with "+keys.TTL+" or "+keys.ExpiresAt)
	case now.Before(deadline):
		return Decision{Verdict: Wait, Reason: NotDue, Message: "it ends at " + FormatTime(deadline), Deadline: deadline}
	}
	return Decision{Verdict: Delete, Reason: Due, Message: "it ended at " + FormatTime(deadline), Deadline: deadline}
}

// maxAhead is how far a clock may be ahead that somebody recorded an activity by.
const maxAhead = time.Minute

func refuse(reason Reason, message string) Decision {
	return Decision{Verdict: Refuse, Reason: reason, Message: message}
}
