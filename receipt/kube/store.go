package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/receipt"
)

// Config says where a Store is and whose receipts it keeps. All fields are
// required.
type Config struct {
	// REST is how the API server is reached. It is copied.
	REST *rest.Config
	// Namespace is the namespace of the ConfigMaps. It need not exist until
	// something is written.
	Namespace string
	// Target is the name of the target whose receipts the store keeps, a DNS
	// label (RFC 1123). A record of another target is refused.
	Target string
}

// Store keeps the receipts of one target in ConfigMaps. It is safe for
// concurrent use, also by several processes on several machines.
type Store struct {
	client            rest.Interface
	namespace, target string
}

var _ receipt.Store = (*Store)(nil)

// New returns the store of a target. It makes no call.
func New(c Config) (*Store, error) {
	if c.REST == nil {
		return nil, errors.New("receipt store: Config.REST is required")
	}
	for field, value := range map[string]string{"Namespace": c.Namespace, "Target": c.Target} {
		if msgs := validation.IsDNS1123Label(value); len(msgs) > 0 {
			return nil, fmt.Errorf("receipt store: Config.%s %q: %s", field, value, strings.Join(msgs, "; "))
		}
	}
	client, err := kubeclient.New(c.REST, corev1.SchemeGroupVersion, corev1.AddToScheme)
	if err != nil {
		return nil, fmt.Errorf("receipt store: %w", err)
	}
	return &Store{client: client, namespace: c.Namespace, target: c.Target}, nil
}

// Put implements receipt.Store. ErrNoNamespace if the namespace does not exist.
func (s *Store) Put(ctx context.Context, r receipt.Record) (receipt.ID, error) {
	data, err := r.Canonical()
	if err != nil {
		return "", err
	}
	if r.Target.Name != s.target {
		return "", fmt.Errorf("%w: it is for target %q, and this store keeps those of %q", receipt.ErrInvalid, r.Target.Name, s.target)
	}
	id, err := r.ID()
	if err != nil {
		return "", err
	}
	const op = "write receipt"
	name := s.recordName(id)
	m := s.object(name, partRecord, id)
	m.Annotations = map[string]string{keys.Commit: r.Commit}
	if err := pack(m, recordKey, data); err != nil {
		return "", s.fail(op, m.Name, err)
	}
	err = s.create(ctx, m)
	if apierrors.IsAlreadyExists(err) {
		// Normally it is the same record. Whether it is what it should be is
		// the same question that Get answers.
		_, err := s.Get(ctx, id)
		if damaged, ok := errors.AsType[*Error](err); ok && errors.Is(err, receipt.ErrCorrupt) {
			damaged.Advice = fmt.Sprintf("It stands in the place of the receipt that is to be written. Keep a copy, and remove it: kubectl delete configmap --namespace %s %s", s.namespace, name)
		}
		if err != nil {
			return "", err
		}
		return id, nil
	}
	if err != nil {
		return "", s.fail(op, m.Name, err)
	}
	return id, nil
}

// Get implements receipt.Store.
func (s *Store) Get(ctx context.Context, id receipt.ID) (receipt.Record, error) {
	const op = "read receipt"
	if _, err := receipt.ParseID(string(id)); err != nil {
		return receipt.Record{}, fmt.Errorf("%w: %w", receipt.ErrNotFound, err)
	}
	name := s.recordName(id)
	var m corev1.ConfigMap
	err := kubeclient.Retry(ctx, func() error {
		return s.request(s.client.Get()).Name(name).Do(ctx).Into(&m)
	})
	if err != nil {
		return receipt.Record{}, s.fail(op, name, err)
	}
	return s.record(id, &m)
}

// record reads the record of that ID out of its object.
func (s *Store) record(id receipt.ID, m *corev1.ConfigMap) (receipt.Record, error) {
	const op = "read receipt"
	name := m.Name
	data, err := unpack(m, recordKey)
	if err != nil {
		return receipt.Record{}, s.fail(op, name, err)
	}
	r, got, err := receipt.Parse(data)
	if err != nil {
		return receipt.Record{}, s.fail(op, name, fmt.Errorf("%w: %w", receipt.ErrCorrupt, err))
	}
	if got != id {
		return receipt.Record{}, s.fail(op, name, fmt.Errorf("%w: its content is %s", receipt.ErrCorrupt, got))
	}
	return r, nil
}

// List implements receipt.Store.
func (s *Store) List(ctx context.Context) ([]receipt.Summary, error) {
	const op = "list receipts"
	var page metav1.PartialObjectMetadataList
	err := kubeclient.Retry(ctx, func() error {
		return s.request(s.client.Get()).Param("labelSelector", s.selector(partRecord, partOutcome)).
			SetHeader("Accept", kubeclient.MetadataOnlyList).Do(ctx).Into(&page)
	})
	if err != nil {
		return nil, s.fail(op, "pharos-"+s.target+".*", err)
	}
	byCreation(page.Items, func(m *metav1.PartialObjectMetadata) *metav1.ObjectMeta { return &m.ObjectMeta })

	outcomes := map[string]*receipt.Summary{} // what they add up to, by the label of the receipt
	for _, m := range page.Items {
		if m.Labels[keys.ReceiptPart] != partOutcome {
			continue
		}
		sum := outcomes[m.Labels[keys.Receipt]]
		if sum == nil {
			sum = &receipt.Summary{}
			outcomes[m.Labels[keys.Receipt]] = sum
		}
		o, err := receipt.ParseOutcome([]byte(m.Annotations[keys.Outcome]))
		if err != nil {
			sum.Err = errors.Join(sum.Err, s.fail(op, m.Name, fmt.Errorf("%w: annotation %s: %w", receipt.ErrCorrupt, keys.Outcome, err)))
			continue
		}
		sum.Add(o)
	}
	var list []receipt.Summary
	for _, m := range slices.Backward(page.Items) {
		if m.Labels[keys.ReceiptPart] != partRecord {
			continue
		}
		hex, _ := strings.CutPrefix(m.Name, s.recordName(""))
		id, err := receipt.ParseID("sha256:" + hex)
		if err != nil {
			continue // whatever it is, it is no record: nothing can name it
		}
		sum := receipt.Summary{}
		if known := outcomes[label(id)]; known != nil {
			sum = *known
		}
		sum.ID, sum.Commit = id, m.Annotations[keys.Commit]
		sum.Created = m.CreationTimestamp.UTC()
		list = append(list, sum)
	}
	return list, nil
}

// byCreation sorts objects by when they were created. The time has seconds; the
// resourceVersion of an object that nobody changes tells those of one second
// apart.
func byCreation[T any](items []T, meta func(*T) *metav1.ObjectMeta) {
	slices.SortStableFunc(items, func(a, b T) int {
		ma, mb := meta(&a), meta(&b)
		byVersion, err := resourceversion.CompareResourceVersion(ma.ResourceVersion, mb.ResourceVersion)
		if err != nil {
			byVersion = strings.Compare(ma.ResourceVersion, mb.ResourceVersion)
		}
		return cmp.Or(ma.CreationTimestamp.Compare(mb.CreationTimestamp.Time), byVersion)
	})
}
