package inventory

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Report is what is on a target, seen at one moment. Its JSON is stable: fields are
// added, and none changes its meaning.
type Report struct {
	// Time is when the look began, by the API server's clock; ages are of it.
	Time time.Time `json:"time"`
	// Namespaces are those that were looked into; empty if all were.
	Namespaces []string `json:"namespaces,omitempty"`
	// Partial says that the API server could not tell all resources that it has: nothing
	// is concluded of what it does not name.
	Partial bool `json:"partial,omitempty"`
	// Declared are the objects of the declaration, and what is left of earlier ones.
	Declared Declared `json:"declared"`
	// Transient is what is to end, by resource.
	Transient []Group `json:"transient"`
	// Durable is what nobody declares and that does not end, by kind and name.
	Durable []Durable `json:"durable"`
	// Elsewhere counts what others declare, such as Helm, by tool.
	Elsewhere map[string]int `json:"elsewhere,omitempty"`
	// Others counts, by resource, what nobody declares, says nothing of its end and is
	// of no durable kind, such as a Deployment that somebody made by hand.
	Others map[string]int `json:"others,omitempty"`
	// Findings are all that is not as it should be.
	Findings []Finding `json:"findings"`
	// Coverage is what could not be read. Of that, nothing above says anything.
	Coverage []Gap `json:"coverage"`
}

// Declared compares a declaration with the target.
type Declared struct {
	// Known says that there was a declaration to compare with.
	Known bool `json:"known"`
	// Of names the declaration, as the caller does.
	Of      string `json:"of,omitempty"`
	Objects int    `json:"objects"`
	// Found are how many objects are there, Missing those that are not. Unknown are
	// those of which neither is known: see Coverage.
	Found   int   `json:"found"`
	Missing []Ref `json:"missing,omitempty"`
	Unknown []Ref `json:"unknown,omitempty"`
	// Drifted are those that are there and differ from what was applied.
	Drifted []Drift `json:"drifted,omitempty"`
	// Orphans are objects of earlier declarations that this one does not have.
	Orphans []Orphan `json:"orphans,omitempty"`
}

// Drift is a declared object that differs from what was applied.
type Drift struct {
	Object Ref `json:"object"`
	// Reason names the fields, and who may have changed them.
	Reason string `json:"reason"`
}

// Orphan is an object that an earlier declaration had.
type Orphan struct {
	Object  Ref       `json:"object"`
	Created time.Time `json:"created"`
	// Owner is whom to ask about it, and Retained that it says that it stays: with
	// either of them it is no finding.
	Owner    string `json:"owner,omitempty"`
	Retained bool   `json:"retained,omitempty"`
}

// Group is the transient objects of one resource.
type Group struct {
	// Resource is named as kubectl does, such as "pods" or "jobs.batch".
	Resource string `json:"resource"`
	// Count are all of them. Covered are those among them that say nothing themselves
	// and end with their namespace, Terminating those that are being deleted.
	Count       int `json:"count"`
	Covered     int `json:"covered,omitempty"`
	Terminating int `json:"terminating,omitempty"`
	// MedianAge is in seconds. Oldest is the one that was created first.
	MedianAge     int64     `json:"medianAgeSeconds"`
	Oldest        Ref       `json:"oldest"`
	OldestCreated time.Time `json:"oldestCreated"`
	// CreatedLastHour are those that were created within the last hour and are still
	// there: at least so many are made in an hour.
	CreatedLastHour int `json:"createdLastHour"`
	// Overdue are those past their end, OlderThanTier those that are there for longer
	// after their last activity than their tier allows, Refused those that the reaper
	// does not end although they say that they end.
	Overdue       int `json:"overdue,omitempty"`
	OlderThanTier int `json:"olderThanTier,omitempty"`
	Refused       int `json:"refused,omitempty"`
	// Trend is what the kept samples tell of the count; nil with too few of them.
	Trend *Trend `json:"trend,omitempty"`
}

// Durable is an object that nobody declares and that does not end.
type Durable struct {
	Object   Ref    `json:"object"`
	Resource string `json:"resource"`
	// Owner is whom to ask about it; empty if nobody said.
	Owner string `json:"owner,omitempty"`
	// Of is what it belongs to, such as the StatefulSet that made a claim.
	Of *Ref `json:"of,omitempty"`
	// Created is when it was created, Deleted since when it is being deleted.
	Created time.Time  `json:"created"`
	Deleted *time.Time `json:"deleted,omitempty"`
	// Size is the storage of volumes and claims, and of the claims that a StatefulSet
	// or a database owns; nil if there is none or it is not known.
	Size *resource.Quantity `json:"size,omitempty"`
	// Phase is that of volumes and claims: Bound, Released, …
	Phase string `json:"phase,omitempty"`
	// Retained says that it is labelled so.
	Retained bool `json:"retained,omitempty"`
	// Keeps says that it keeps its transient namespace from ending, and why.
	Keeps string `json:"keeps,omitempty"`
}

// Unowned says that nobody can be asked about it.
func (d Durable) Unowned() bool { return d.Owner == "" && d.Of == nil }

// Problem is what a Finding is about, as one word for programs.
type Problem string

// The problems.
const (
	Missing       Problem = "Missing"       // a declared object is not there
	Drifted       Problem = "Drifted"       // a declared object differs from what was applied
	Contradictory Problem = "Contradictory" // a declared object says that it is transient
	Orphaned      Problem = "Orphaned"      // only an earlier declaration has it
	Parked        Problem = "Parked"        // a workload is not restarted any more
	Refused       Problem = "Refused"       // it says that it ends, and the reaper does not end it
	Overdue       Problem = "Overdue"       // it is past its end
	Stuck         Problem = "Stuck"         // it is being deleted for too long
	OlderThanTier Problem = "OlderThanTier" // it is there for longer than its tier allows
	Climbing      Problem = "Climbing"      // there are ever more of a resource
	NoOwner       Problem = "NoOwner"       // it is durable, and nobody can be asked about it
)

// problems are all of them, the gravest first.
var problems = []Problem{Missing, Drifted, Contradictory, Parked, Refused, Stuck, Overdue, OlderThanTier, Climbing, NoOwner, Orphaned}

// Finding is something that is not as it should be.
type Finding struct {
	Problem Problem `json:"problem"`
	// Object is the object; nil for Climbing.
	Object *Ref `json:"object,omitempty"`
	// Resource is the object's, or the one that there are ever more of.
	Resource string `json:"resource,omitempty"`
	// Message is what is the case, and what to do.
	Message string `json:"message"`
}

// Gap is something that could not be read.
type Gap struct {
	// Resource is the resource, or the group and version of which it is not known what
	// resources it has. It is empty for what is none, such as the declaration.
	Resource string `json:"resource,omitempty"`
	// Namespace is where it could not be listed; empty for the whole cluster.
	Namespace string `json:"namespace,omitempty"`
	// Name is that of an object, where it was to be read by name.
	Name string `json:"name,omitempty"`
	// Forbidden says that a right is missing.
	Forbidden bool   `json:"forbidden,omitempty"`
	Message   string `json:"message"`
}

// Sample is the reading that Take counts trends by; see Samples.
func (r Report) Sample() Sample {
	s := Sample{Time: r.Time, Scope: scopeOf(r.Namespaces), Counts: map[string]int{}, Partial: r.Partial}
	for _, g := range r.Transient {
		s.Counts[g.Resource] = g.Count
	}
	for _, gap := range r.Coverage {
		if gap.Resource != "" && gap.Name == "" && !slices.Contains(s.Unread, gap.Resource) {
			s.Unread = append(s.Unread, gap.Resource)
		}
	}
	return s
}
