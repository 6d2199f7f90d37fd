package kube

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/receipt"
)

const (
	appliedKey = "applied"
	liveKey    = "live"
)

// Pointers implements receipt.Store.
func (s *Store) Pointers(ctx context.Context) (receipt.Pointers, error) {
	m, err := s.readPointers(ctx)
	if apierrors.IsNotFound(err) {
		return receipt.Pointers{}, nil
	}
	if err != nil {
		return receipt.Pointers{}, s.fail("read pointers", s.pointersName(), err)
	}
	return s.pointersOf(m)
}

// SetPointers implements receipt.Store. ErrNoNamespace if they are set for the
// first time and the namespace does not exist.
func (s *Store) SetPointers(ctx context.Context, old, new receipt.Pointers) (receipt.Pointers, error) {
	const op = "move pointers"
	for _, id := range []receipt.ID{new.Applied, new.Live} {
		if id == "" {
			continue
		}
		if _, err := receipt.ParseID(string(id)); err != nil {
			return receipt.Pointers{}, err
		}
	}
	writeID := rand.Text()
	m, err := s.writePointers(ctx, old.Version, new, writeID)
	if lost := apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || (apierrors.IsNotFound(err) && old.Version != ""); lost {
		// An attempt of ours whose answer was lost may be what is in the way of
		// the next one.
		have, rerr := s.readPointers(ctx)
		switch {
		case rerr != nil && !apierrors.IsNotFound(rerr):
			return receipt.Pointers{}, s.fail(op, s.pointersName(), rerr)
		case rerr != nil || have.Annotations[keys.WriteID] != writeID:
			return receipt.Pointers{}, s.fail(op, s.pointersName(), fmt.Errorf("%w: %w", receipt.ErrConflict, err))
		}
		m, err = have, nil
	}
	if err != nil {
		return receipt.Pointers{}, s.fail(op, s.pointersName(), err)
	}
	return s.pointersOf(m)
}

// writePointers creates the pointers, or changes those of a resourceVersion.
func (s *Store) writePointers(ctx context.Context, version string, new receipt.Pointers, writeID string) (*corev1.ConfigMap, error) {
	var m corev1.ConfigMap
	if version == "" {
		o := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Name:      s.pointersName(),
				Namespace: s.namespace,
				Labels: map[string]string{
					keys.ManagedBy:   keys.Manager,
					keys.ReceiptsOf:  s.target,
					keys.ReceiptPart: partPointers,
				},
				Annotations: map[string]string{keys.WriteID: writeID},
			},
			Data: map[string]string{},
		}
		for key, id := range map[string]receipt.ID{appliedKey: new.Applied, liveKey: new.Live} {
			if id != "" {
				o.Data[key] = string(id)
			}
		}
		err := kubeclient.Retry(ctx, func() error {
			return s.request(s.client.Post()).Param("fieldManager", keys.Manager).Body(o).Do(ctx).Into(&m)
		})
		return &m, err
	}
	// A merge patch, so that labels and annotations of others stay.
	value := func(id receipt.ID) any {
		if id == "" {
			return nil
		}
		return id
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{
			"resourceVersion": version,
			"annotations":     map[string]string{keys.WriteID: writeID},
		},
		"data": map[string]any{appliedKey: value(new.Applied), liveKey: value(new.Live)},
	})
	if err != nil {
		return nil, err
	}
	err = kubeclient.Retry(ctx, func() error {
		return s.request(s.client.Patch(types.MergePatchType)).Name(s.pointersName()).
			Param("fieldManager", keys.Manager).Body(patch).Do(ctx).Into(&m)
	})
	return &m, err
}

func (s *Store) readPointers(ctx context.Context) (*corev1.ConfigMap, error) {
	var m corev1.ConfigMap
	err := kubeclient.Retry(ctx, func() error {
		return s.request(s.client.Get()).Name(s.pointersName()).Do(ctx).Into(&m)
	})
	return &m, err
}

func (s *Store) pointersOf(m *corev1.ConfigMap) (receipt.Pointers, error) {
	p := receipt.Pointers{
		Applied: receipt.ID(m.Data[appliedKey]),
		Live:    receipt.ID(m.Data[liveKey]),
		Version: m.ResourceVersion,
	}
	for key, id := range map[string]receipt.ID{appliedKey: p.Applied, liveKey: p.Live} {
		if id == "" {
			continue
		}
		if _, err := receipt.ParseID(string(id)); err != nil {
			return receipt.Pointers{}, s.fail("read pointers", m.Name, fmt.Errorf("%w: %s: %w", receipt.ErrCorrupt, key, err))
		}
	}
	return p, nil
}
