package reaper

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Object is what decides about an object: its metadata.
type Object struct {
	Group, Kind     string
	Namespace, Name string
	UID             string
	ResourceVersion string
	// Created and Deleted are the API server's; Deleted is zero unless the object is
	// being deleted.
	Created, Deleted time.Time
	Labels           map[string]string
	Annotations      map[string]string
	// Owned says that it has an owner whose end is its own, whatever it says itself.
	Owned bool
	// Owners are the owners for people, such as "StatefulSet db".
	Owners []string
}

// ObjectOf returns what decides about the object of this group and kind. The maps are
// the object's own.
func ObjectOf(group, kind string, m metav1.Object) Object {
	o := Object{
		Group: group, Kind: kind, Namespace: m.GetNamespace(), Name: m.GetName(),
		UID: string(m.GetUID()), ResourceVersion: m.GetResourceVersion(), Created: m.GetCreationTimestamp().Time,
		Labels: m.GetLabels(), Annotations: m.GetAnnotations(), Owned: len(m.GetOwnerReferences()) > 0,
	}
	for _, owner := range m.GetOwnerReferences() {
		o.Owners = append(o.Owners, owner.Kind+" "+owner.Name)
	}
	if d := m.GetDeletionTimestamp(); d != nil {
		o.Deleted = d.Time
	}
	return o
}

// String is the object for people, such as "ConfigMap shop/settings".
func (o Object) String() string {
	name := o.Name
	if o.Namespace != "" {
		name = o.Namespace + "/" + o.Name
	}
	return o.Kind + " " + name
}
