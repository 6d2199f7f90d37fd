package kube

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/receipt"
)

// maxReason is how much of a reason a list shows, in bytes: annotations are
// limited, and a reason may quote the output of a program.
const maxReason = 4096

// outcomeName names an outcome by its content, so that adding it twice is
// adding it once.
func (s *Store) outcomeName(id receipt.ID, canonical []byte) string {
	sum := sha256.Sum256(append([]byte(id+"\n"), canonical...))
	return s.pointersName() + "." + id.Hex()[:20] + "." + hex.EncodeToString(sum[:16])
}

// AddOutcome implements receipt.Store.
func (s *Store) AddOutcome(ctx context.Context, id receipt.ID, o receipt.Outcome) error {
	const op = "write outcome"
	data, err := o.Canonical()
	if err != nil {
		return err
	}
	if _, err := receipt.ParseID(string(id)); err != nil {
		return fmt.Errorf("%w: %w", receipt.ErrNotFound, err)
	}
	summary := o.Summary()
	summary.Reason = clip(o.Reason)
	note, err := summary.Canonical()
	if err != nil {
		return err
	}
	var record metav1.PartialObjectMetadata
	err = kubeclient.Retry(ctx, func() error {
		return s.request(s.client.Get()).Name(s.recordName(id)).
			SetHeader("Accept", kubeclient.MetadataOnly).Do(ctx).Into(&record)
	})
	if err != nil {
		return s.fail(op, s.recordName(id), err)
	}
	m := s.object(s.outcomeName(id, data), partOutcome, id)
	m.Annotations = map[string]string{keys.Outcome: string(note)}
	m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: record.Name, UID: record.UID}}
	if err := pack(m, outcomeKey, data); err != nil {
		return s.fail(op, m.Name, err)
	}
	if err := s.create(ctx, m); err != nil && !apierrors.IsAlreadyExists(err) {
		return s.fail(op, m.Name, err)
	}
	return nil
}

// Outcomes implements receipt.Store.
func (s *Store) Outcomes(ctx context.Context, id receipt.ID) ([]receipt.Outcome, error) {
	const op = "read outcomes"
	if _, err := receipt.ParseID(string(id)); err != nil {
		return nil, nil // no receipt can have it, so there are no outcomes
	}
	items, err := s.parts(ctx, id, partOutcome)
	if err != nil {
		return nil, s.fail(op, s.recordName(id), err)
	}
	return s.outcomes(id, items)
}

// parts lists the objects of a receipt.
func (s *Store) parts(ctx context.Context, id receipt.ID, parts ...string) ([]corev1.ConfigMap, error) {
	selector := s.selector(parts...) + "," + keys.Receipt + "=" + label(id)
	var page corev1.ConfigMapList
	err := kubeclient.Retry(ctx, func() error {
		return s.request(s.client.Get()).Param("labelSelector", selector).Do(ctx).Into(&page)
	})
	return page.Items, err
}

// outcomes reads the outcomes of a receipt out of their objects.
func (s *Store) outcomes(id receipt.ID, items []corev1.ConfigMap) ([]receipt.Outcome, error) {
	const op = "read outcomes"
	byCreation(items, func(m *corev1.ConfigMap) *metav1.ObjectMeta { return &m.ObjectMeta })
	var list []receipt.Outcome
	for _, m := range items {
		data, err := unpack(&m, outcomeKey)
		if err != nil {
			return nil, s.fail(op, m.Name, err)
		}
		o, err := receipt.ParseOutcome(data)
		if err != nil {
			return nil, s.fail(op, m.Name, fmt.Errorf("%w: %w", receipt.ErrCorrupt, err))
		}
		if m.Name != s.outcomeName(id, data) {
			return nil, s.fail(op, m.Name, fmt.Errorf("%w: it is not the outcome that its name says", receipt.ErrCorrupt))
		}
		list = append(list, o)
	}
	return list, nil
}

// clip cuts a reason to maxReason bytes, between characters.
func clip(s string) string {
	if len(s) <= maxReason {
		return s
	}
	const more = "…"
	end := maxReason - len(more)
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return strings.TrimRight(s[:end], "\n") + more
}
