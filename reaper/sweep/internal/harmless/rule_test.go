package harmless

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/keys"
)

// What a value means is looked up, not read: these are all that the test writes.
var (
	durations = map[string]time.Duration{
		"1s": time.Second, "2s": 2 * time.Second, "3s": 3 * time.Second, "1h": time.Hour, "36h": 36 * time.Hour,
		"1d12h": 36 * time.Hour, "2w": 14 * 24 * time.Hour,
	}
	noDurations = []string{"", "5", "0s", "-1s", "1d500ms", "1.5s", "1s1m", "01s", "1S", "9999d", "1s "}
	noTimes     = []string{"", "yesterday", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01 00:00:00Z", "2026-13-01T00:00:00Z", "1767225600", "2026-01-01T00:00:00 EST"}
	noIntents   = []string{"", "Transient", "transiente", "ephemeral", "true"}
)

// What says that an object stays, or who brings it back.
var (
	stays = []mark{
		{annotation: "helm.sh/resource-policy", value: "keep"},
		{annotation: "argocd.argoproj.io/sync-options", value: "Validate=false,Prune=false"},
		{annotation: "cli-utils.sigs.k8s.io/on-remove", value: "keep"},
	}
	reconciled = []mark{
		{label: keys.Target, value: "devbox"},
		{annotation: "argocd.argoproj.io/tracking-id", value: "shop:/ConfigMap:shop/settings"},
		{label: "kustomize.toolkit.fluxcd.io/name", value: "shop"},
	}
	declared = append([]mark{
		{annotation: "meta.helm.sh/release-name", value: "shop"},
		{label: "kapp.k14s.io/app", value: "1"},
		{label: "applyset.kubernetes.io/part-of", value: "applyset-x"},
	}, reconciled...)
)

// mark is a label or an annotation.
type mark struct{ label, annotation, value string }

func (k mark) on(m metav1.ObjectMeta) bool {
	if k.label != "" {
		return m.Labels[k.label] == k.value
	}
	return m.Annotations[k.annotation] == k.value
}

func anyOn(marks []mark, m metav1.ObjectMeta) bool {
	for _, k := range marks {
		if k.on(m) {
			return true
		}
	}
	return false
}

// forbids says why an object with this metadata must not be deleted at that time, or
// nothing if it is to be.
func forbids(resource string, m metav1.ObjectMeta, at time.Time) string {
	end, why := endOf(m)
	switch {
	case m.DeletionTimestamp != nil:
		return "it is being deleted already"
	case len(m.OwnerReferences) > 0:
		return "it has an owner"
	case m.Labels[keys.Intent] != "transient":
		return fmt.Sprintf("its intent is %q", m.Labels[keys.Intent])
	case why != "":
		return why
	case anyOn(stays, m):
		return "a mark says that it stays"
	case anyOn(declared, m):
		return "something declares it"
	case resource == "namespaces" && (m.Name == "default" || strings.HasPrefix(m.Name, "kube-")),
		strings.HasPrefix(m.Namespace, "kube-"), resource == "configmaps" && m.Name == "kube-root-ca.crt":
		return "it is the system's"
	case at.Before(end):
		return fmt.Sprintf("it ends at %s, in %s", end.Format(time.RFC3339Nano), end.Sub(at))
	}
	return ""
}

// endOf is when an object is to end, or why nothing can be told of that.
func endOf(m metav1.ObjectMeta) (end time.Time, why string) {
	var wrong []string
	duration := func(key string) time.Duration {
		value, said := m.Annotations[key]
		d, known := durations[value]
		if said && !known {
			wrong = append(wrong, fmt.Sprintf("%s is %q", key, value))
		}
		return d
	}
	moment := func(key string) time.Time {
		value, said := m.Annotations[key]
		at, err := time.Parse("2006-01-02T15:04:05Z07:00", value)
		if said && err != nil {
			wrong = append(wrong, fmt.Sprintf("%s is %q", key, value))
		}
		return at
	}
	ttl, grace := duration(keys.TTL), duration(keys.Grace)
	expires, active := moment(keys.ExpiresAt), moment(keys.LastActive)
	if len(wrong) > 0 {
		return time.Time{}, strings.Join(wrong, ", ")
	}
	if active.Before(m.CreationTimestamp.Time) {
		active = m.CreationTimestamp.Time
	}
	switch {
	case ttl == 0 && expires.IsZero():
		return time.Time{}, "nothing says when it ends"
	case ttl == 0, !expires.IsZero() && expires.Before(active.Add(ttl)):
		return expires.Add(grace), ""
	}
	return active.Add(ttl + grace), ""
}

// outlives says why an object is to be there after its namespace, or nothing. No kind
// of durable artefacts is among those of the test.
func outlives(m metav1.ObjectMeta) string {
	intent, said := m.Labels[keys.Intent]
	_, why := endOf(m)
	switch {
	case intent == "retained":
		return "it is retained"
	case said && intent != "transient":
		return fmt.Sprintf("its intent is %q", intent)
	case why != "" && why != "nothing says when it ends":
		return why
	case anyOn(stays, m):
		return "a mark says that it stays"
	case anyOn(reconciled, m):
		return "something declares it that brings it back"
	}
	return ""
}
