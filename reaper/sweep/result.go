package sweep

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pharos-dev/pharos/reaper"
)

// Outcome is what became of an object.
type Outcome string

const (
	// Deleted: the API server was asked to delete it and did, or has begun to.
	Deleted Outcome = "Deleted"
	// WouldDelete: a dry run would have deleted it.
	WouldDelete Outcome = "WouldDelete"
	// Gone: there is no such object any more, or another one of this name.
	Gone Outcome = "Gone"
	// Kept: nothing says any more that it ends, or its end is another's business.
	Kept Outcome = "Kept"
	// Waiting: its end has moved to Decision.Deadline.
	Waiting Outcome = "Waiting"
	// Refused: it says that it ends, and must not or cannot be ended: a finding.
	Refused Outcome = "Refused"
)

// Result is what became of one object.
type Result struct {
	Outcome Outcome
	// Object is what was decided about, as it was read last. With Gone it has only
	// its kind and name.
	Object reaper.Object
	// Decision is why; not with Gone.
	Decision reaper.Decision
	// Held is what in a namespace is to outlive it, the first few of it, and Gaps what
	// could not be looked at, with the reason reaper.Holds.
	Held []Held
	Gaps []Gap
}

// Held is an object in a namespace that is to outlive it.
type Held struct {
	// Resource is named as kubectl does.
	Resource string `json:"resource"`
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	// Why it is to outlive it.
	Why string `json:"why"`
}

// Gap is something that could not be looked at: it is not known what is there.
type Gap struct {
	// What is a resource as kubectl names it, or a group and version such as
	// "metrics.k8s.io/v1beta1".
	What string `json:"what"`
	// Why it could not be looked at.
	Why string `json:"why"`
}

var outcomeOf = map[reaper.Verdict]Outcome{reaper.Keep: Kept, reaper.Wait: Waiting, reaper.Refuse: Refused}

// name is the object as kubectl prints it: "deployment.apps/api".
func (h Held) name() string {
	return strings.TrimSuffix(strings.ToLower(h.Kind)+"."+schema.ParseGroupResource(h.Resource).Group, ".") + "/" + h.Name
}
