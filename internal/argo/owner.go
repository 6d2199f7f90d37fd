package argo

import (
	"encoding/json"
	"strings"
	"time"
)

// Owner is what would put an Application back as it was.
type Owner struct {
	Kind, Namespace, Name string
	// How says how that is known.
	How string
}

// String is how messages name an owner: "ApplicationSet argocd/shops".
func (o Owner) String() string {
	return Resource{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}.String()
}

// fluxLabels are those by which Flux marks what it applied.
var fluxLabels = [...]struct{ kind, name, namespace string }{
	{"Kustomization", "kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace"},
	{"HelmRelease", "helm.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/namespace"},
}

// OwnerOf returns what would put the Application's spec back, as far as the
// Application itself says so: an ApplicationSet, an Application that it is a
// resource of, or Flux.
func OwnerOf(a *Application) (Owner, bool) {
	for _, r := range a.Metadata.OwnerReferences {
		if r.Kind == KindSet {
			return Owner{Kind: KindSet, Namespace: a.Metadata.Namespace, Name: r.Name, How: "by metadata.ownerReferences"}, true
		}
	}
	if parent, ok := trackedBy(a); ok {
		return parent, true
	}
	for _, f := range fluxLabels {
		if name := a.Metadata.Labels[f.name]; name != "" {
			return Owner{Kind: f.kind, Namespace: a.Metadata.Labels[f.namespace], Name: name, How: "by the label " + f.name}, true
		}
	}
	return Owner{}, false
}

// trackedBy reads the tracking annotation. One that names another object was
// copied here, and says nothing of this one.
func trackedBy(a *Application) (Owner, bool) {
	id := a.Metadata.Annotations[TrackingAnnotation]
	parent, object, ok := strings.Cut(id, ":")
	if !ok || object != Group+"/"+KindApplication+":"+a.Metadata.Namespace+"/"+a.Metadata.Name {
		return Owner{}, false
	}
	o := Owner{Kind: KindApplication, Namespace: a.Metadata.Namespace, Name: parent, How: "by the annotation " + TrackingAnnotation}
	// An Application outside of Argo CD's own namespace is named with it.
	if ns, name, ok := strings.Cut(parent, "_"); ok {
		o.Namespace, o.Name = ns, name
	}
	return o, true
}

// LabelParent returns the name of the Application that the label for tracking
// names, unless it is the Application's own. Other tools write that label too,
// so the parent has to be asked: see [Holds].
func LabelParent(a *Application) string {
	name := a.Metadata.Labels[InstanceLabel]
	if name == a.Metadata.Name {
		return ""
	}
	return name
}

// Holds says whether an Application is among the resources of parent.
func Holds(parent, a *Application) bool {
	for _, r := range parent.Status.Resources {
		if r.Group == Group && r.Kind == KindApplication && r.Name == a.Metadata.Name && r.Namespace == a.Metadata.Namespace {
			return true
		}
	}
	return false
}

// LastEditor returns the field manager that wrote the sources last, and when;
// empty if that is not recorded. Whoever changes a field becomes its manager.
func LastEditor(a *Application) (manager string, at time.Time) {
	best := 0
	for _, m := range a.Metadata.ManagedFields {
		if m.FieldsV1 == nil || m.Time == nil {
			continue
		}
		depth := ownedDepth(m.FieldsV1.GetRawBytes())
		if depth > best || depth > 0 && depth == best && !m.Time.Time.Before(at) {
			best, manager, at = depth, m.Manager, m.Time.Time
		}
	}
	return manager, at
}

// ownedDepth says how near to the revision of the sources fields are that
// somebody manages: 0 for none of the spec.
func ownedDepth(fields []byte) int {
	var f struct {
		Spec *struct {
			Sources *json.RawMessage `json:"f:sources"`
			Source  *struct {
				Revision *json.RawMessage `json:"f:targetRevision"`
			} `json:"f:source"`
		} `json:"f:spec"`
	}
	switch {
	case json.Unmarshal(fields, &f) != nil || f.Spec == nil:
		return 0
	case f.Spec.Sources != nil || f.Spec.Source != nil && f.Spec.Source.Revision != nil:
		return 3
	case f.Spec.Source != nil:
		return 2
	}
	return 1
}

// WindowsEditor returns the field manager that wrote the project's windows last,
// and when; empty if that is not recorded, as of a list that was removed.
func WindowsEditor(p *Project) (manager string, at time.Time) {
	for _, m := range p.Metadata.ManagedFields {
		if m.FieldsV1 == nil || m.Time == nil || m.Time.Time.Before(at) {
			continue
		}
		var f struct {
			Spec struct {
				Windows *json.RawMessage `json:"f:syncWindows"`
			} `json:"f:spec"`
		}
		if json.Unmarshal(m.FieldsV1.GetRawBytes(), &f) == nil && f.Spec.Windows != nil {
			manager, at = m.Manager, m.Time.Time
		}
	}
	return manager, at
}
