// Package parked reads from a workload's annotations that it is parked.
package parked

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/internal/keys"
)

// Parked is why and since when a workload is not restarted any more.
type Parked struct {
	// Reason is one line, for people.
	Reason string
	// Since is zero if a person parked it, or if that cannot be read.
	Since time.Time
}

// longest is how many bytes of a reason are read.
const longest = 2048

// Of says whether an object of the group and kind is a workload that is parked. What
// bears a copy of the annotation, as a ReplicaSet does, is none.
func Of(group, kind string, annotations map[string]string) (Parked, bool) {
	reason, is := annotations[keys.Parked]
	if !is || !Workload(group, kind) {
		return Parked{}, false
	}
	if len(reason) > longest {
		reason = strings.ToValidUTF8(reason[:longest], "") + "…"
	}
	// What lifecycle/supervise writes. A budget that is damaged tells nothing here.
	var budget struct {
		Parked struct {
			Since time.Time `json:"since"`
		} `json:"parked"`
	}
	_ = json.Unmarshal([]byte(annotations[keys.RestartBudget]), &budget)
	return Parked{Reason: cmp.Or(strings.Join(strings.Fields(reason), " "), "no reason is given"), Since: budget.Parked.Since}, true
}

// Workload says whether objects of the group and kind can be parked.
func Workload(group, kind string) bool {
	return group == "apps" && (kind == "Deployment" || kind == "StatefulSet" || kind == "DaemonSet")
}

// String says it for people, without the name of the workload.
func (p Parked) String() string {
	since := "by hand"
	if !p.Since.IsZero() {
		since = "since " + p.Since.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("it is parked %s: %s", since, p.Reason)
}

// Unpark is the command that has a workload supervised again. The resource is named as
// kubectl does.
func Unpark(resource, namespace, name string) string {
	return fmt.Sprintf("kubectl annotate %s/%s --namespace %s %s-", resource, name, namespace, keys.Parked)
}
