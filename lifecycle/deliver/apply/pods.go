package apply

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pharos-dev/pharos/lifecycle"
)

// most bounds of how many objects the pods or events are read: whoever repairs
// something begins with one.
const most = 10

// addDetails adds to the reasons what the objects' pods, or else their events,
// say. What may not be read is left out: the reasons stand without it.
func (d *Deliverer) addDetails(ctx context.Context, v *view, unready []lifecycle.ObjectStatus) {
	withDetails(unready, d.details(ctx, v.some(unready)))
}

// some returns the first few of the objects, as the target holds them.
func (v *view) some(unready []lifecycle.ObjectStatus) map[key]object {
	some := map[key]object{}
	for _, u := range unready[:min(len(unready), most)] {
		if held, ok := v.held[keyOf(u.Object)]; ok {
			some[keyOf(u.Object)] = held
		}
	}
	return some
}

// details asks for what the pods or events of each object say.
func (d *Deliverer) details(ctx context.Context, objects map[key]object) map[key]string {
	names := slices.Collect(maps.Keys(objects))
	texts := make([]string, len(names))
	d.each(ctx, len(names), func(i int) { texts[i] = d.detail(ctx, objects[names[i]]) })
	details := map[key]string{}
	for i, k := range names {
		details[k] = texts[i]
	}
	return details
}

func withDetails(unready []lifecycle.ObjectStatus, details map[key]string) {
	for i := range unready {
		if detail := details[keyOf(unready[i].Object)]; detail != "" {
			unready[i].Reason += "; " + detail
		}
	}
}

func (d *Deliverer) detail(ctx context.Context, o object) string {
	u := unstructured.Unstructured{Object: o}
	if gk := u.GroupVersionKind().GroupKind(); gk.Group == "" && gk.Kind == "Pod" {
		var p corev1.Pod
		if runtime.DefaultUnstructuredConverter.FromUnstructured(o, &p) != nil {
			return ""
		}
		_, text := complaint(&p)
		return oneLine(text)
	}
	if pods, ok := d.podsOf(ctx, u); ok {
		if text := worst(pods); text != "" {
			return oneLine(text + d.lastWords(ctx, u, pods))
		}
	}
	return oneLine(d.lastEvent(ctx, u))
}

// podsOf lists the pods that a workload selects.
func (d *Deliverer) podsOf(ctx context.Context, u unstructured.Unstructured) ([]corev1.Pod, bool) {
	if g := u.GroupVersionKind().Group; g != "apps" && g != "batch" {
		return nil, false
	}
	raw, found, err := unstructured.NestedMap(u.Object, "spec", "selector")
	if !found || err != nil {
		return nil, false
	}
	var ls metav1.LabelSelector
	if runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &ls) != nil {
		return nil, false
	}
	selector, err := metav1.LabelSelectorAsSelector(&ls)
	if err != nil || selector.Empty() {
		return nil, false
	}
	var list corev1.PodList
	err = d.read(ctx, collection{"", "v1", "Pod", "pods", u.GetNamespace()}, url.Values{"labelSelector": {selector.String()}}, &list)
	return list.Items, err == nil
}

// lastEvent is the newest event about an object that says why it waits.
func (d *Deliverer) lastEvent(ctx context.Context, u unstructured.Unstructured) string {
	if u.GetNamespace() == "" {
		return ""
	}
	var list corev1.EventList
	err := d.read(ctx, collection{"", "v1", "Event", "events", u.GetNamespace()},
		url.Values{"fieldSelector": {"involvedObject.uid=" + string(u.GetUID())}}, &list)
	if err != nil {
		return ""
	}
	list.Items = slices.DeleteFunc(list.Items, func(e corev1.Event) bool {
		// A claim that waits says so in an event that is no warning.
		return e.Type != corev1.EventTypeWarning && e.InvolvedObject.Kind != "PersistentVolumeClaim"
	})
	if len(list.Items) == 0 {
		return ""
	}
	e := slices.MaxFunc(list.Items, func(a, b corev1.Event) int { return eventTime(a).Compare(eventTime(b).Time) })
	return e.Reason + ": " + e.Message
}

func eventTime(e corev1.Event) metav1.Time {
	if !e.LastTimestamp.IsZero() {
		return e.LastTimestamp
	}
	return metav1.Time{Time: e.EventTime.Time}
}

// read lists a few objects of a collection, once: nothing depends on them.
func (d *Deliverer) read(ctx context.Context, of collection, query url.Values, into any) error {
	query.Set("limit", "100")
	_, err := d.client.try(ctx, request{method: http.MethodGet, path: of.path(), query: query, accept: acceptJSON, into: into})
	return err
}

// worst is the worst complaint of some pods, of the newest pod that has it.
func worst(pods []corev1.Pod) string {
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	rank, text := 0, ""
	for i := range pods {
		if r, t := complaint(&pods[i]); r > rank {
			rank, text = r, fmt.Sprintf("pod %s: %s", pods[i].Name, t)
		}
	}
	return text
}

// oneLine makes a message fit a line: some are pages.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	const enough = 400
	if len(s) > enough {
		s = strings.ToValidUTF8(s[:enough], "") + "…"
	}
	return s
}
