package standard

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pharos-dev/pharos/internal/objectjson"
	"github.com/pharos-dev/pharos/lifecycle"
)

// objectsOf makes objects of typed ones, whose apiVersion and kind are set.
func objectsOf(typed ...any) ([]lifecycle.Object, error) {
	var objects []lifecycle.Object
	for _, t := range typed {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(t)
		if err != nil {
			return nil, fmt.Errorf("prepare an object: %w", err)
		}
		delete(content, "status")
		prune(content)
		u := unstructured.Unstructured{Object: content}
		data, err := objectjson.Encode(content)
		if err != nil {
			return nil, fmt.Errorf("prepare %s %s: %w", u.GetKind(), u.GetName(), err)
		}
		gvk := u.GroupVersionKind()
		objects = append(objects, lifecycle.Object{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind,
			Namespace: u.GetNamespace(), Name: u.GetName(), JSON: data})
	}
	return objects, nil
}

// prune takes out what typed objects have for nothing: creationTimestamp: null,
// and strategy and resources: {}.
func prune(content map[string]any) {
	for k, v := range content {
		switch v := v.(type) {
		case nil:
			delete(content, k)
		case map[string]any:
			if prune(v); len(v) == 0 && (k == "strategy" || k == "resources" || k == "spec") {
				delete(content, k)
			}
		case []any:
			for _, item := range v {
				if m, ok := item.(map[string]any); ok {
					prune(m)
				}
			}
		}
	}
}
