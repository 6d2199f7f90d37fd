package divert

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/pharos-dev/pharos/internal/objectjson"
)

// deployment is one as it was read: typed, to look at, and raw, since a field that
// these types do not know has to stay.
type deployment struct {
	appsv1.Deployment
	raw map[string]any
}

// parse reads a Deployment. of says which one, for the error.
func parse(of string, doc []byte) (d deployment, err error) {
	if d.raw, err = objectjson.Decode(doc); err == nil {
		err = json.Unmarshal(doc, &d.Deployment)
	}
	if err != nil {
		return d, fmt.Errorf("%w: the Deployment %s cannot be read: %w", ErrInvalid, of, err)
	}
	return d, nil
}

// isDeployment says whether it is one of apps/v1.
func (d deployment) isDeployment() bool {
	return d.Kind == "Deployment" && d.APIVersion == appsv1.SchemeGroupVersion.String()
}

// container finds a container of the template, by its index; -1 if there is none.
func (d deployment) container(name string) (int, *corev1.Container) {
	list := d.Spec.Template.Spec.Containers
	for i := range list {
		if list[i].Name == name {
			return i, &list[i]
		}
	}
	return -1, nil
}

// value is the value of a field of a container, and whether it has one: an empty list
// is none.
func (d deployment) value(container int, field string) (any, bool) {
	list, _ := child(d.raw, "spec", "template", "spec", "containers").([]any)
	if container < 0 || container >= len(list) {
		return nil, false
	}
	v := child(list[container], strings.Split(strings.TrimPrefix(field, "/"), "/")...)
	if l, ok := v.([]any); v == nil || ok && len(l) == 0 {
		return nil, false
	}
	return v, true
}

// child follows names into objects; nil where there is nothing.
func child(v any, names ...string) any {
	for _, name := range names {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// same says whether a value that was read is the one that is written so: both are texts
// or lists of texts.
func same(v any, doc json.RawMessage) bool {
	return v != nil && reflect.DeepEqual(v, valueOf(doc))
}

// valueOf is the value of a JSON document; nil if it is none.
func valueOf(doc json.RawMessage) (v any) {
	_ = json.Unmarshal(doc, &v)
	return v
}

// at is the JSON pointer of a field of a container.
func at(container int, field string) string {
	return fmt.Sprintf("/spec/template/spec/containers/%d%s", container, field)
}

// operation is one of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

func test(path string, value any) operation { return operation{"test", path, value} }

func replace(path string, value any) operation { return operation{"replace", path, value} }

// digestOf is the digest by which an image is named; empty if it is not.
func digestOf(image string) string {
	_, digest, _ := strings.Cut(image, "@")
	return digest
}

// folderOf is where an image is, beside others that the same credentials are for: its
// registry, and the names before the last of its repository.
func folderOf(image string) string {
	repository, _, _ := strings.Cut(image, "@")
	host, rest, ok := strings.Cut(repository, "/")
	if !ok || !strings.ContainsAny(host, ".:") && host != "localhost" {
		host, rest = "docker.io", repository
	}
	return path.Join(host, path.Dir(rest))
}
