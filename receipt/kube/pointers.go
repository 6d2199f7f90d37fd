package kube

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
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
	appliedKey    = "applied"
	liveKey       = "live"
	repositoryKey = "repository"
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
	if err := new.Validate(); err != nil {
		return receipt.Pointers{}, err
	}
	writeID := rand.Text()
	const attempts = 3
	for n := 1; ; n++ {
		m, err := s.writePointers(ctx, old.Version, new, writeID)
		if err == nil {
			return s.pointersOf(m)
		}
		if !inTheWay(err, old.Version) {
			return receipt.Pointers{}, s.fail(op, s.pointersName(), err)
		}
		// An attempt of ours whose answer was lost may be what is in the way of
		// the next one.
		have, rerr := s.readPointers(ctx)
		switch {
		case rerr != nil && !apierrors.IsNotFound(rerr):
			return receipt.Pointers{}, s.fail(op, s.pointersName(), rerr)
		case rerr == nil && have.Annotations[keys.WriteID] == writeID:
			return s.pointersOf(have)
		case have.ResourceVersion != old.Version:
			return receipt.Pointers{}, s.fail(op, s.pointersName(), fmt.Errorf("%w: %w", receipt.ErrConflict, err))
		case n == attempts:
			return receipt.Pointers{}, s.fail(op, s.pointersName(), err)
		}
		// Nobody moved them: servers also answer so to requests that met another
		// one of theirs.
	}
}

// inTheWay reports whether a write of pointers of a version failed because of
// what is there.
func inTheWay(err error, version string) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) && version != ""
}

// writePointers creates the pointers, or changes those of a resourceVersion.
func (s *Store) writePointers(ctx context.Context, version string, new receipt.Pointers, writeID string) (*corev1.ConfigMap, error) {
	var m corev1.ConfigMap
	// The repository is written also if it is empty, so that a target that was
	// never bound differs from one whose binding somebody removed.
	data := map[string]string{appliedKey: string(new.Applied), repositoryKey: new.Repository}
	if new.Live != "" {
		data[liveKey] = string(new.Live)
	}
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
			Data: data,
		}
		err := kubeclient.Retry(ctx, func() error {
			return s.request(s.client.Post()).Param("fieldManager", keys.Manager).Body(o).Do(ctx).Into(&m)
		})
		return &m, err
	}
	// A merge patch, so that labels and annotations of others stay.
	values := map[string]any{liveKey: nil}
	for key, value := range data {
		values[key] = value
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{
			"resourceVersion": version,
			"annotations":     map[string]string{keys.WriteID: writeID},
		},
		"data":       values,
		"binaryData": nil, // a key cannot be in both
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

// pointersOf reads each pointer by itself: one that is damaged or gone takes no
// other with it.
func (s *Store) pointersOf(m *corev1.ConfigMap) (receipt.Pointers, error) {
	p := receipt.Pointers{
		Applied: receipt.ID(m.Data[appliedKey]), Live: receipt.ID(m.Data[liveKey]), Repository: m.Data[repositoryKey],
		Version: m.ResourceVersion,
	}
	var errs []error
	if invalid, ok := errors.AsType[*receipt.InvalidError](p.Validate()); ok {
		for _, f := range invalid.Findings {
			errs = append(errs, fmt.Errorf("%w: %s: %s", receipt.ErrCorrupt, f.Field, f.Message))
			switch f.Field {
			case appliedKey:
				p.Applied = ""
			case liveKey:
				p.Live = ""
			case repositoryKey:
				p.Repository = ""
			}
		}
	}
	if _, ok := m.Data[repositoryKey]; !ok {
		errs = append(errs, fmt.Errorf("%w: %s: is missing", receipt.ErrCorrupt, repositoryKey))
	}
	if len(errs) > 0 {
		return p, s.fail("read pointers", m.Name, errors.Join(errs...))
	}
	return p, nil
}
