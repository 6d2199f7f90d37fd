package reaper

import (
	"errors"
	"fmt"
	"net/url"

	"k8s.io/apimachinery/pkg/api/validate/content"
)

// Ref names one object of a cluster, by the resource that the API server serves it as.
type Ref struct {
	// Group, Version and Resource are such as "apps", "v1" and "deployments". The core
	// group is empty.
	Group, Version, Resource string
	// Namespace is empty for what is in none.
	Namespace, Name string
	// UID tells the object from another one that has its name later.
	UID string
	// Kind is for people, and may be empty.
	Kind string
}

// String is the object for people, such as "deployments.apps shop/api".
func (r Ref) String() string {
	o := Object{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
	if o.Kind == "" {
		if o.Kind = r.Resource; r.Group != "" {
			o.Kind += "." + r.Group
		}
	}
	return o.String()
}

// check says what is missing.
func (r Ref) check() error {
	if r.Version == "" || r.Resource == "" || r.Name == "" || r.UID == "" {
		return fmt.Errorf("%w: version, resource, name and UID are needed, and there are %q, %q, %q and %q", errRef, r.Version, r.Resource, r.Name, r.UID)
	}
	return r.checkNames()
}

// checkNames refuses names that would lead to another path, as ".." does.
func (r Ref) checkNames() error {
	var errs []error
	for _, name := range []string{r.Group, r.Version, r.Resource, r.Namespace, r.Name} {
		for _, why := range content.IsPathSegmentName(name) {
			errs = append(errs, fmt.Errorf("%w: %s %s", errRef, quote(name), why))
		}
	}
	return errors.Join(errs...)
}

var errRef = errors.New("this names no object")

// path is where the API server has the object, or all of its resource if it has no
// name.
func (r Ref) path() string {
	p := "/apis/" + url.PathEscape(r.Group)
	if r.Group == "" {
		p = "/api"
	}
	p += "/" + url.PathEscape(r.Version)
	if r.Namespace != "" {
		p += "/namespaces/" + url.PathEscape(r.Namespace)
	}
	p += "/" + url.PathEscape(r.Resource)
	if r.Name != "" {
		p += "/" + url.PathEscape(r.Name)
	}
	return p
}
