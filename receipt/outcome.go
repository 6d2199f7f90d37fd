package receipt

import "time"

// Outcome is something seen of a receipt, appended beside it.
type Outcome struct {
	Type      OutcomeType `json:"type"`
	Time      time.Time   `json:"time"`              // when it was seen; stored in UTC
	Operation string      `json:"operation"`         // ID of the operation that saw it
	Actor     string      `json:"actor,omitempty"`   // user@host, for people
	Reason    string      `json:"reason,omitempty"`  // for failed: why
	Objects   []Seen      `json:"objects,omitempty"` // for live: what the target held
	// Applications are what was seen of each Application that delivered it, in
	// the order in which they were looked at: a root before its children.
	Applications []Application `json:"applications,omitempty"`
	// Jobs are the Jobs that run once and completed, sorted as the objects of a
	// record; their Hash tells which content it was that ran. Only an
	// OutcomeCompleted has them.
	Jobs []Object `json:"jobs,omitempty"`
}

// Seen is an object as the target held it.
type Seen struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	Owned     string `json:"owned"` // "sha256:…" over the fields that the deliverer owns, with their live values
}

// Application is what was seen of one Argo CD Application: the evidence that
// it was, or was not, live and healthy at the exact commit. The comments name
// the fields of the Application that they are read from.
type Application struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
	Project   string `json:"project,omitempty"` // spec.project
	// Revisions are what it was compared with last, one for each source:
	// status.sync.revision, or status.sync.revisions.
	Revisions []string `json:"revisions,omitempty"`
	Sync      string   `json:"sync,omitempty"`   // status.sync.status, "Synced"
	Health    string   `json:"health,omitempty"` // status.health.status, "Healthy"
	// Operation is the phase of its last operation, "Succeeded", and Message
	// what that says: status.operationState. Empty if there was none.
	Operation string `json:"operation,omitempty"`
	Message   string `json:"message,omitempty"`
	// Finished is when that operation ended, and Reconciled when the status was
	// last brought up to date: a status that is older than the end of the
	// operation says nothing. Both have seconds, and are zero if not known.
	Finished   time.Time `json:"finished,omitzero"`
	Reconciled time.Time `json:"reconciled,omitzero"`
	// Images are those of its live workloads, as references:
	// status.summary.images, sorted.
	Images []string `json:"images,omitempty"`
	// Conditions are what it reports of itself, each as "type: message", in its
	// order: status.conditions.
	Conditions []string `json:"conditions,omitempty"`
}

// Summary returns the outcome without what makes it large: its Objects,
// Applications and Jobs. It is what a Store's list shows.
func (o Outcome) Summary() Outcome {
	o.Objects, o.Applications, o.Jobs = nil, nil, nil
	return o
}
