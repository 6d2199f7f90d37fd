package divert

import (
	"encoding/json"
	"fmt"
	"log/slog"
)

// Subject is the container that is diverted.
type Subject struct {
	Namespace string `json:"namespace"`
	// Name is the Deployment's.
	Name      string `json:"name"`
	Container string `json:"container"`
}

// String names the Deployment as messages do: "Deployment shop/api".
func (s Subject) String() string { return fmt.Sprintf("Deployment %s/%s", s.Namespace, s.Name) }

// Diversion is what replaces a container by the agent, and all that is needed to put
// it back. It is a value that can be stored: see lifecycle/takeover/journal.
type Diversion struct {
	Subject
	// UID is the Deployment's, ResourceVersion and Generation are as it was planned.
	// Only that generation is diverted.
	UID             string `json:"uid"`
	ResourceVersion string `json:"resourceVersion"`
	Generation      int64  `json:"generation"`
	// Agent is the image of the agent, by digest.
	Agent string `json:"agent"`
	// Values are those that are replaced, the image first.
	Values []Value `json:"values"`
	// Original is the whole object as it was planned, with its managedFields.
	Original json.RawMessage `json:"original"`
}

// Value is one value of the container that the agent's takes the place of.
type Value struct {
	// Field is the JSON pointer (RFC 6901) below the container:
	// "/livenessProbe/exec/command".
	Field string `json:"field"`
	// Original is what Git declares, Agent what replaces it.
	Original json.RawMessage `json:"original"`
	Agent    json.RawMessage `json:"agent"`
}

// Refusal is a reason for which a workload is not diverted.
type Refusal struct {
	// Reason says what is in the way, Next what to do about it. One line each.
	Reason string `json:"reason"`
	Next   string `json:"next"`
}

// String is both.
func (r Refusal) String() string { return r.Reason + ". " + r.Next }

// Warning is what somebody should know who diverts the workload all the same.
type Warning struct {
	// Text is one line.
	Text string `json:"text"`
}

// String is the text.
func (w Warning) String() string { return w.Text }

// LogValue is String: what the template of a Deployment holds is not logged.
func (d Diversion) LogValue() slog.Value { return slog.StringValue(d.String()) }
