package argocd

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/internal/objectjson"
	"github.com/pharos-dev/pharos/lifecycle"
)

const (
	// lastApplied is where client-side apply keeps the manifest.
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
	// installation is a mark of an Argo CD that has a name.
	installation = "argocd.argoproj.io/installation-id"
	// hookFinalizer is what Argo CD gives to hooks.
	hookFinalizer = "argocd.argoproj.io/hook-finalizer"
)

// argoMarks are the annotations that Argo CD and the tool that it applies with
// write beside what a manifest says.
var argoMarks = []string{lastApplied, installation, argo.TrackingAnnotation}

// metadataOf is an object's metadata, which it has afterwards.
func metadataOf(o map[string]any) map[string]any {
	metadata, ok := o["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		o["metadata"] = metadata
	}
	return metadata
}

// text is a map of the metadata; nil if it is not there, or holds something else.
func text(o map[string]any, field string) map[string]any {
	metadata, _ := o["metadata"].(map[string]any)
	m, _ := metadata[field].(map[string]any)
	return m
}

// set sets an entry of a map of the metadata.
func set(o map[string]any, field, key string, value any) {
	metadata := metadataOf(o)
	m, ok := metadata[field].(map[string]any)
	if !ok {
		m = map[string]any{}
		metadata[field] = m
	}
	m[key] = value
}

// annotationsOf are an object's annotations that are text.
func annotationsOf(o map[string]any) map[string]string {
	list := map[string]string{}
	for name, value := range text(o, "annotations") {
		if s, ok := value.(string); ok {
			list[name] = s
		}
	}
	return list
}

// tracked gives a manifest the marks by which Argo CD knows the live object for an
// Application's: its own settings say which those are, so what is there is kept. A
// label is one of them only where it names the Application.
func tracked(manifest, live map[string]any, application string) {
	for _, name := range []string{argo.TrackingAnnotation, installation} {
		if mark, ok := text(live, "annotations")[name]; ok {
			set(manifest, "annotations", name, mark)
		}
	}
	const longest = 63
	if mark, ok := text(live, "labels")[argo.InstanceLabel]; ok && mark == application[:min(len(application), longest)] {
		set(manifest, "labels", argo.InstanceLabel, mark)
	}
}

// managedBy says whether a field manager has written a live object.
func managedBy(live map[string]any, manager string) bool {
	metadata, _ := live["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	return manager != "" && slices.ContainsFunc(entries, func(e any) bool {
		entry, _ := e.(map[string]any)
		return entry["manager"] == manager
	})
}

// withoutMarks returns an object without what Argo CD writes beside the manifest;
// nil for none.
func withoutMarks(o map[string]any) map[string]any {
	annotations := text(o, "annotations")
	if annotations == nil {
		return o
	}
	o, annotations = maps.Clone(o), maps.Clone(annotations)
	metadata := maps.Clone(o["metadata"].(map[string]any))
	for _, mark := range argoMarks {
		delete(annotations, mark)
	}
	if metadata["annotations"] = annotations; len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	o["metadata"] = metadata
	return o
}

// withoutFinalizer returns a hook's manifest without the finalizer that Argo CD
// gives it.
func withoutFinalizer(o map[string]any) map[string]any {
	metadata, _ := o["metadata"].(map[string]any)
	finalizers, _ := metadata["finalizers"].([]any)
	if !slices.Contains(finalizers, any(hookFinalizer)) {
		return o
	}
	o, metadata = maps.Clone(o), maps.Clone(metadata)
	metadata["finalizers"] = slices.DeleteFunc(slices.Clone(finalizers), func(f any) bool { return f == any(hookFinalizer) })
	if len(finalizers) == 1 {
		delete(metadata, "finalizers")
	}
	o["metadata"] = metadata
	return o
}

// shown is an object as a comparison shows it: as JSON, without marks. What came
// out of JSON goes into JSON.
func shown(o map[string]any) []byte {
	doc, _ := json.Marshal(withoutMarks(o))
	return doc
}

// typeOf says what a change from one object into another is, where what the server
// alone writes is none.
func typeOf(before, after []byte) lifecycle.ChangeType {
	a, errBefore := objectjson.Decode(before)
	b, errAfter := objectjson.Decode(after)
	if errBefore == nil && errAfter == nil && reflect.DeepEqual(withoutServers(a), withoutServers(b)) {
		return lifecycle.ChangeUnchanged
	}
	return lifecycle.ChangeConfigured
}
