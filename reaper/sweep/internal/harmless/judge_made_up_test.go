package harmless

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/keys"
)

var created = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// transient is metadata of an object that ends a second after its creation.
func transient(namespace, name string, more map[string]string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(created),
		Labels: map[string]string{keys.Intent: "transient"}, Annotations: map[string]string{keys.TTL: "1s"},
	}
	maps.Copy(m.Annotations, more)
	return m
}

func request(verb, resource, namespace, name string, at time.Duration, body any) devenv.AuditEvent {
	raw, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return devenv.AuditEvent{Verb: verb, Resource: resource, Namespace: namespace, Name: name, Code: 200, Request: raw, Received: created.Add(at), UserAgent: "a"}
}

func deletion(resource, namespace, name string, at time.Duration, uid, resourceVersion string) devenv.AuditEvent {
	return request("delete", resource, namespace, name, at, map[string]any{"preconditions": map[string]any{"uid": uid, "resourceVersion": resourceVersion}})
}

func answered(code int, e devenv.AuditEvent) devenv.AuditEvent {
	e.Code, e.UserAgent = code, "a"
	return e
}

// The judge is tried on facts that break the rule: one that finds nothing anywhere
// would acquit everybody.
func TestJudge(t *testing.T) {
	t.Parallel()
	const ns = "arena"
	get := func(resource, name string) devenv.AuditEvent { return request("get", resource, ns, name, 0, nil) }
	marked := request("patch", "namespaces", "box", "box", 2*time.Second, map[string]any{
		"metadata": map[string]any{"uid": "uid-box", "resourceVersion": "10", "annotations": map[string]any{keys.Ending: "x"}},
	})
	unmarked := request("patch", "namespaces", "box", "box", 2*time.Second, map[string]any{
		"metadata": map[string]any{"uid": "uid-box", "resourceVersion": "10", "annotations": map[string]any{keys.Ending: nil}},
	})
	by := func(agent string, e devenv.AuditEvent) devenv.AuditEvent {
		e.UserAgent = agent
		return e
	}
	look := func(resource string, at time.Duration) devenv.AuditEvent {
		return request("list", resource, "box", "", at, nil)
	}
	box := func(at time.Duration) devenv.AuditEvent {
		return deletion("namespaces", "box", "box", at, "uid-box", "10")
	}
	readBox := request("get", "namespaces", "box", "box", 0, nil)
	for name, tt := range map[string]struct {
		events []devenv.AuditEvent
		// finding is what is found; nothing if it is empty.
		finding string
		raced   int
	}{
		"allowed":                {events: []devenv.AuditEvent{get("configmaps", "due"), deletion("configmaps", ns, "due", time.Second, "uid-due", "10")}},
		"a moment too early":     {events: []devenv.AuditEvent{get("configmaps", "due"), deletion("configmaps", ns, "due", time.Second-1, "uid-due", "10")}, finding: "it ends at"},
		"not read":               {events: []devenv.AuditEvent{deletion("configmaps", ns, "due", time.Second, "uid-due", "10")}, finding: "it did not read it"},
		"read once, twice ended": {events: []devenv.AuditEvent{get("configmaps", "due"), deletion("configmaps", ns, "due", time.Second, "uid-due", "10"), deletion("configmaps", ns, "due", time.Second, "uid-due", "10")}, finding: "it did not read it"},
		"two of a name at once": {events: []devenv.AuditEvent{get("configmaps", "due"), get("configmaps", "due"),
			deletion("configmaps", ns, "due", time.Second, "uid-due", "10"), deletion("configmaps", ns, "due", 2*time.Second, "uid-again", "22")}},
		"another one":            {events: []devenv.AuditEvent{get("configmaps", "due"), deletion("configmaps", ns, "due", time.Second, "uid-kept", "10")}, finding: "version 10 is of {configmaps arena kept}"},
		"no UID":                 {events: []devenv.AuditEvent{get("configmaps", "due"), deletion("configmaps", ns, "due", time.Second, "", "10")}, finding: "its preconditions"},
		"no version":             {events: []devenv.AuditEvent{get("configmaps", "due"), deletion("configmaps", ns, "due", time.Second, "uid-due", "")}, finding: "its preconditions"},
		"an earlier version":     {events: []devenv.AuditEvent{get("configmaps", "changed"), deletion("configmaps", ns, "changed", time.Second, "uid-changed", "10")}, finding: "was not the last one"},
		"a version of no object": {events: []devenv.AuditEvent{get("configmaps", "due"), deletion("configmaps", ns, "due", time.Second, "uid-due", "11")}, finding: "there was no version"},
		"refused, and too early": {events: []devenv.AuditEvent{get("configmaps", "due"), answered(409, deletion("configmaps", ns, "due", 0, "uid-due", "10"))}, finding: "it ends at"},
		"refused, as it changed": {events: []devenv.AuditEvent{get("configmaps", "changed"), answered(409, deletion("configmaps", ns, "changed", time.Second, "uid-changed", "10"))}},
		"cut off":                {events: []devenv.AuditEvent{get("configmaps", "due"), answered(500, devenv.AuditEvent{Verb: "delete", Resource: "configmaps", Namespace: ns, Name: "due"})}},
		"of which nothing is said": {events: []devenv.AuditEvent{get("configmaps", "due"), answered(200, devenv.AuditEvent{Verb: "delete", Resource: "configmaps", Namespace: ns, Name: "due"})},
			finding: "its preconditions"},
		"retained":     {events: []devenv.AuditEvent{get("configmaps", "kept"), deletion("configmaps", ns, "kept", time.Hour, "uid-kept", "10")}, finding: `its intent is "retained"`},
		"a collection": {events: []devenv.AuditEvent{request("deletecollection", "configmaps", ns, "", 0, nil)}, finding: "no such thing"},
		"another mark": {events: []devenv.AuditEvent{request("patch", "configmaps", ns, "due", 0, map[string]any{})}, finding: "it patches a configmaps"},
		"a namespace": {events: []devenv.AuditEvent{readBox, marked, look("configmaps", 3*time.Second), look("leases", 3*time.Second), box(4 * time.Second)},
			finding: "configmaps held was in it"},
		"a namespace that was filled at the last moment": {events: []devenv.AuditEvent{readBox, marked, look("configmaps", 2500*time.Millisecond), look("leases", 3*time.Second), box(4 * time.Second)}, raced: 1},
		"a namespace that another one marked":            {events: []devenv.AuditEvent{readBox, by("b", marked), look("configmaps", 2500*time.Millisecond), look("leases", 3*time.Second), box(4 * time.Second)}, raced: 1},
		"a namespace that another one marked too late":   {events: []devenv.AuditEvent{readBox, look("configmaps", time.Second), look("leases", time.Second), by("b", marked), box(4 * time.Second)}, finding: "not looked at after it was marked", raced: 1},
		"a namespace whose mark was refused":             {events: []devenv.AuditEvent{readBox, answered(409, marked), look("configmaps", 2500*time.Millisecond), look("leases", 3*time.Second), box(4 * time.Second)}, finding: "not looked at after it was marked", raced: 1},
		"a namespace whose mark was taken away": {events: []devenv.AuditEvent{readBox, marked, by("b", unmarked), look("configmaps", 2500*time.Millisecond), look("leases", 3*time.Second), box(4 * time.Second)},
			finding: "not looked at after it was marked", raced: 1},
		"a namespace that was not looked at again": {events: []devenv.AuditEvent{readBox, look("configmaps", time.Second), look("leases", time.Second), marked, box(4 * time.Second)}, finding: "not looked at after it was marked", raced: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := judge(tt.events, madeUp())
			if found := strings.Join(v.findings, "\n"); (tt.finding == "") != (found == "") || !strings.Contains(found, tt.finding) {
				t.Errorf("found %q, want %q", found, tt.finding)
			}
			if v.raced != tt.raced {
				t.Errorf("%d namespaces were raced for, want %d", v.raced, tt.raced)
			}
		})
	}
}

// madeUp is a history of a few objects: all are deleted at revision 20.
func madeUp() *history {
	h := &history{of: map[string][]version{}}
	add := func(resource string, m metav1.ObjectMeta, revision int64, gone bool) {
		h.of[string(m.UID)] = append(h.of[string(m.UID)], version{resource, revision, m, gone, created.Add(3 * time.Second)})
	}
	kept := transient("arena", "kept", nil)
	kept.Labels[keys.Intent] = "retained"
	changed := transient("arena", "changed", nil)
	held := transient("box", "held", nil)
	held.Labels[keys.Intent] = "retained"
	for _, m := range []metav1.ObjectMeta{transient("arena", "due", nil), kept, changed, held} {
		add("configmaps", m, 10, false)
	}
	changed.Annotations = map[string]string{keys.TTL: "1h"}
	add("configmaps", changed, 15, false)
	add("namespaces", transient("", "box", nil), 10, false)
	for _, m := range []metav1.ObjectMeta{transient("arena", "due", nil), kept, changed} {
		add("configmaps", m, 20, true)
	}
	again := transient("arena", "due", nil)
	again.UID = "uid-again"
	add("configmaps", again, 22, false)
	add("configmaps", again, 23, true)
	box := transient("", "box", nil)
	box.DeletionTimestamp = &metav1.Time{Time: created.Add(4 * time.Second)}
	add("namespaces", box, 20, false)
	add("configmaps", held, 21, true)
	return h
}

// The rule, value by value.
func TestForbids(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) string { return created.Add(d).Format(time.RFC3339) }
	for _, tt := range []struct {
		annotations map[string]string
		ends        time.Duration // after the creation; 0 if never
	}{
		{map[string]string{}, time.Second},
		{map[string]string{keys.LastActive: at(10 * time.Second)}, 11 * time.Second},
		{map[string]string{keys.LastActive: at(-time.Hour)}, time.Second},
		{map[string]string{keys.Grace: "2s"}, 3 * time.Second},
		{map[string]string{keys.TTL: "1h", keys.ExpiresAt: at(5 * time.Second)}, 5 * time.Second},
		{map[string]string{keys.ExpiresAt: "2126-01-01T00:00:00+02:00"}, time.Second},
		{map[string]string{keys.TTL: "1d500ms"}, 0},
		{map[string]string{keys.ExpiresAt: "yesterday"}, 0},
		{map[string]string{"meta.helm.sh/release-name": "shop"}, 0},
		{map[string]string{"helm.sh/resource-policy": "keep"}, 0},
	} {
		m := transient("arena", "x", tt.annotations)
		early, late := forbids("configmaps", m, created.Add(tt.ends-1)), forbids("configmaps", m, created.Add(tt.ends))
		if tt.ends == 0 && late == "" || tt.ends > 0 && (early == "" || late != "") {
			t.Errorf("%v: %q, and then %q", tt.annotations, early, late)
		}
	}
	for _, v := range noDurations {
		if forbids("configmaps", transient("arena", "x", map[string]string{keys.TTL: v}), created.Add(time.Hour)) == "" {
			t.Errorf("by the TTL %q it may be deleted", v)
		}
	}
	for _, v := range noTimes {
		if forbids("configmaps", transient("arena", "x", map[string]string{keys.ExpiresAt: v}), created.Add(time.Hour)) == "" {
			t.Errorf("by the end %q it may be deleted", v)
		}
	}
}
