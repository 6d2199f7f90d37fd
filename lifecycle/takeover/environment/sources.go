package environment

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// sources are the objects that an environment comes from, each read once.
type sources struct {
	reader     Reader
	configMaps map[string]*corev1.ConfigMap
	secrets    map[string]*corev1.Secret
	services   map[string]*corev1.Service
	nodes      map[string]*corev1.Node
}

func newSources(r Reader) *sources {
	return &sources{r, map[string]*corev1.ConfigMap{}, map[string]*corev1.Secret{}, map[string]*corev1.Service{}, map[string]*corev1.Node{}}
}

// once reads an object, which is nil if there is none of that name.
func once[T any](known map[string]*T, kind, namespace, name, resource string, read func() (*T, error)) (*T, error) {
	key := named(namespace, name)
	if object, ok := known[key]; ok {
		return object, nil
	}
	object, err := read()
	switch {
	case apierrors.IsNotFound(err):
		object = nil
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("read %s %s: %w. Get the right to do it: verb get on %s with the resource name %s", kind, key, err, resource, name)
	case err != nil:
		return nil, fmt.Errorf("read %s %s: %w", kind, key, err)
	}
	known[key] = object
	return object, nil
}

func named(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

func (s *sources) configMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	return once(s.configMaps, "ConfigMap", namespace, name, "configmaps", func() (*corev1.ConfigMap, error) { return s.reader.ConfigMap(ctx, namespace, name) })
}

func (s *sources) secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return once(s.secrets, "Secret", namespace, name, "secrets", func() (*corev1.Secret, error) { return s.reader.Secret(ctx, namespace, name) })
}

func (s *sources) service(ctx context.Context, namespace, name string) (*corev1.Service, error) {
	return once(s.services, "Service", namespace, name, "services", func() (*corev1.Service, error) { return s.reader.Service(ctx, namespace, name) })
}

func (s *sources) node(ctx context.Context, name string) (*corev1.Node, error) {
	return once(s.nodes, "Node", "", name, "nodes", func() (*corev1.Node, error) { return s.reader.Node(ctx, name) })
}
