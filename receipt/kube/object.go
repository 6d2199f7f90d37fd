package kube

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/receipt"
)

// The values of the label keys.ReceiptPart, and the keys of what an object
// holds.
const (
	partRecord   = "record"
	partOutcome  = "outcome"
	partPointers = "pointers"

	recordKey  = "record.json"
	outcomeKey = "outcome.json"
)

const (
	// plainLimit is up to where content is kept readable with kubectl.
	plainLimit = 128 << 10
	// storedLimit is what the API server accepts in one ConfigMap.
	storedLimit = 1 << 20
)

func (s *Store) pointersName() string { return "pharos-" + s.target }

func (s *Store) recordName(id receipt.ID) string { return s.pointersName() + "." + id.Hex() }

// label is the value of the label keys.Receipt.
func label(id receipt.ID) string { return id.Hex()[:40] }

// object returns an immutable object of the store without content.
func (s *Store) object(name, part string, id receipt.ID) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name:      name,
			Namespace: s.namespace,
			Labels: map[string]string{
				keys.ManagedBy:   keys.Manager,
				keys.ReceiptsOf:  s.target,
				keys.ReceiptPart: part,
				keys.Receipt:     label(id),
			},
		},
		Immutable: ptr.To(true),
	}
}

// selector selects the store's objects of certain parts.
func (s *Store) selector(parts ...string) string {
	return fmt.Sprintf("%s=%s,%s in (%s)", keys.ReceiptsOf, s.target, keys.ReceiptPart, strings.Join(parts, ","))
}

// request addresses the namespace's ConfigMaps.
func (s *Store) request(r *rest.Request) *rest.Request {
	return r.MaxRetries(0).Namespace(s.namespace).Resource("configmaps")
}

// create makes an object. Its name has to stand for its content, so that it
// can be tried again.
func (s *Store) create(ctx context.Context, m *corev1.ConfigMap) error {
	return kubeclient.Retry(ctx, func() error {
		return s.request(s.client.Post()).Param("fieldManager", keys.Manager).Body(m).Do(ctx).Error()
	})
}

// pack puts content into an object.
func pack(m *corev1.ConfigMap, key string, data []byte) error {
	if len(data) <= plainLimit {
		m.Data = map[string]string{key: string(data)}
		return nil
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if b.Len() > storedLimit {
		return fmt.Errorf("%w: it has %d bytes, compressed %d, and a ConfigMap holds %d", receipt.ErrTooLarge, len(data), b.Len(), storedLimit)
	}
	m.BinaryData = map[string][]byte{key + ".gz": b.Bytes()}
	return nil
}

// unpack returns an object's content.
func unpack(m *corev1.ConfigMap, key string) ([]byte, error) {
	if data, ok := m.Data[key]; ok {
		return []byte(data), nil
	}
	packed, ok := m.BinaryData[key+".gz"]
	if !ok {
		return nil, fmt.Errorf("%w: it has neither %s nor %s.gz", receipt.ErrCorrupt, key, key)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("%w: %s.gz: %w", receipt.ErrCorrupt, key, err)
	}
	// One byte more than may be there: Parse refuses what is larger, whatever
	// a few compressed bytes would grow to.
	data, err := io.ReadAll(io.LimitReader(r, receipt.MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %s.gz: %w", receipt.ErrCorrupt, key, err)
	}
	return data, nil
}
