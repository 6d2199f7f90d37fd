package environment

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// memoryReader has its objects in memory and notes what is read.
type memoryReader struct {
	mu         sync.Mutex
	configMaps map[string]map[string]string
	secrets    map[string]map[string]string
	services   map[string]corev1.Service
	nodes      map[string]corev1.Node
	forbidden  map[string]bool
	lifetime   time.Duration
	read       []string
	tokens     int
}

var _ Reader = (*memoryReader)(nil)

func (r *memoryReader) note(what string, exists bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read = append(r.read, what)
	switch {
	case r.forbidden[what]:
		return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, what, fmt.Errorf("no"))
	case !exists:
		return apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, what)
	}
	return nil
}

// reads are what was read, sorted.
func (r *memoryReader) reads() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(slices.Values(r.read))
}

func (r *memoryReader) ConfigMap(_ context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	data, ok := r.configMaps[name]
	o := &corev1.ConfigMap{Data: data}
	o.Namespace, o.Name = namespace, name
	return o, r.note("configmap/"+name, ok)
}

func (r *memoryReader) Secret(_ context.Context, namespace, name string) (*corev1.Secret, error) {
	data, ok := r.secrets[name]
	o := &corev1.Secret{Data: map[string][]byte{}}
	o.Namespace, o.Name = namespace, name
	for key, text := range data {
		o.Data[key] = []byte(text)
	}
	return o, r.note("secret/"+name, ok)
}

func (r *memoryReader) Service(_ context.Context, namespace, name string) (*corev1.Service, error) {
	o, ok := r.services[namespace+"/"+name]
	return &o, r.note("service/"+namespace+"/"+name, ok)
}

func (r *memoryReader) Node(_ context.Context, name string) (*corev1.Node, error) {
	o, ok := r.nodes[name]
	return &o, r.note("node/"+name, ok)
}

func (r *memoryReader) Token(_ context.Context, namespace, serviceAccount, audience string, lifetime time.Duration) (Token, error) {
	if err := r.note(fmt.Sprintf("token/%s/%s for %q", namespace, serviceAccount, audience), true); err != nil {
		return Token{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tokens++
	return NewToken(fmt.Sprintf("token-%d-of-%s", r.tokens, serviceAccount), time.Now().Add(min(lifetime, r.lifetime))), nil
}
