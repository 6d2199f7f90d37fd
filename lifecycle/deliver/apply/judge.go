package apply

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// verdict is whether an object is as a delivery wants it.
type verdict struct {
	ready bool
	// failed says that it will not become ready by itself.
	failed bool
	reason string
}

// judge applies the rules of kstatus, and ours where a delivery wants more than
// that something is under way: the package comment lists them.
func judge(o object, manager string) verdict {
	u := &unstructured.Unstructured{Object: o}
	r, err := status.Compute(u)
	if err != nil {
		return verdict{reason: "its status cannot be read: " + err.Error()}
	}
	v := verdict{
		ready:  r.Status == status.CurrentStatus,
		failed: r.Status == status.FailedStatus,
		reason: counted(r.Message),
	}
	if r.Status == status.TerminatingStatus {
		v.reason = "it is being deleted"
		return v
	}
	switch u.GroupVersionKind().GroupKind().String() {
	case "Deployment.apps":
		deployment(&v, o, manager)
	case "Job.batch":
		job(&v, o)
	case "Pod":
		pod(&v, o)
	}
	return v
}

// counts are the words of kstatus for how many replicas are as they should be.
var counts = regexp.MustCompile(`^([A-Za-z]+): (\d+)/(\d+)$`)

// leaving are the words of kstatus for replicas of the version before.
var leaving = regexp.MustCompile(`^Pending termination: (\d+)$`)

func counted(message string) string {
	if m := leaving.FindStringSubmatch(message); m != nil {
		return "replicas of the rollout before are still there: " + m[1]
	}
	m := counts.FindStringSubmatch(message)
	if m == nil {
		return message
	}
	what := strings.ToLower(m[1])
	if what == "replicas" {
		what = "created"
	}
	return fmt.Sprintf("%s of %s replicas are %s", m[2], m[3], what)
}

// deployment adds what kstatus leaves out: why no pods can be created, and that
// the controller keeps an earlier rollout's failure until the new one moves.
func deployment(v *verdict, o object, manager string) {
	if c, ok := condition(o, "ReplicaFailure"); ok && c.status == "True" && !v.ready {
		v.reason += "; " + c.message
	}
	if v.failed {
		c, _ := condition(o, "Progressing")
		ours, _ := applied(managers(o), manager)
		failed, err1 := time.Parse(time.RFC3339, c.updated)
		wrote, err2 := time.Parse(time.RFC3339, ours.time)
		// Both are whole seconds, and so is a deadline: what failed in the
		// second of our write began before it.
		if err1 == nil && err2 == nil && !failed.After(wrote) {
			v.failed = false
			v.reason = "the new rollout has not moved yet; the one before exceeded its progress deadline"
			return
		}
		v.reason = "its progress deadline is exceeded"
		if c.message != "" {
			v.reason += ": " + c.message
		}
	}
	if paused, _, _ := unstructured.NestedBool(o, "spec", "paused"); paused && !v.ready {
		v.reason += "; it is paused"
	}
}

// job wants the Job to be complete, where kstatus is content when it runs.
func job(v *verdict, o object) {
	if c, ok := condition(o, "Failed"); ok && c.status == "True" {
		v.reason = "it failed: " + c.text()
		return
	}
	if c, ok := condition(o, "Complete"); ok && c.status == "True" {
		return
	}
	if suspended, _, _ := unstructured.NestedBool(o, "spec", "suspend"); suspended {
		v.ready, v.failed = true, false
		return
	}
	if v.ready {
		v.ready = false
		v.reason = "it has not completed yet"
	}
}

// pod wants a Pod that ended to have succeeded, and gives one that waits the
// chance that every other workload's pods have.
func pod(v *verdict, o object) {
	phase, _, _ := unstructured.NestedString(o, "status", "phase")
	if phase == "Failed" {
		v.ready, v.failed = false, true
		v.reason = "it failed"
		return
	}
	v.failed = false
}

// statusCondition is one of status.conditions.
type statusCondition struct{ status, reason, message, updated string }

func (c statusCondition) text() string {
	if c.message == "" {
		return c.reason
	}
	return c.reason + ": " + c.message
}

func condition(o object, kind string) (statusCondition, bool) {
	list, _, _ := unstructured.NestedSlice(o, "status", "conditions")
	for _, c := range list {
		c, ok := c.(object)
		if !ok {
			continue
		}
		text := func(field string) string { s, _ := c[field].(string); return s }
		if text("type") == kind {
			updated := text("lastUpdateTime")
			if updated == "" {
				updated = text("lastTransitionTime")
			}
			return statusCondition{text("status"), text("reason"), text("message"), updated}, true
		}
	}
	return statusCondition{}, false
}
