package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// The bounds of what is kept.
const (
	// MaxSamples is how many samples are kept at most, the newest.
	MaxSamples = 200
	// MinSampleGap is how long after a sample of its scope the next one is kept.
	MinSampleGap = 5 * time.Minute
	// maxSamplesSize is how many bytes they may take; an object may have a MiB.
	maxSamplesSize = 256 << 10
)

// samplesKey is the data of the ConfigMap.
const samplesKey = "samples.json"

// ErrSamples is returned for kept samples that cannot be read.
var ErrSamples = errors.New("the kept samples cannot be read")

// SamplesConfig says where samples are kept.
type SamplesConfig struct {
	// REST leads to the API server. Required.
	REST *rest.Config
	// Namespace and Target are those of the target; the ConfigMap is named
	// pharos-TARGET.inventory. Required.
	Namespace, Target string
}

// Samples keeps what looks counted in a ConfigMap of bounded size, which anybody may
// delete: then there is no trend for a while. To load needs the right to get it, to
// add also to create and update it. It is safe for concurrent use, also by several
// processes.
type Samples struct {
	config SamplesConfig
	client rest.Interface
}

// NewSamples returns Samples. It makes no request.
func NewSamples(c SamplesConfig) (*Samples, error) {
	if c.REST == nil || c.Namespace == "" || c.Target == "" {
		return nil, errors.New("inventory: SamplesConfig needs REST, Namespace and Target")
	}
	client, err := kubeclient.New(c.REST, corev1.SchemeGroupVersion, corev1.AddToScheme)
	if err != nil {
		return nil, fmt.Errorf("inventory: %w", err)
	}
	return &Samples{c, client}, nil
}

func (s *Samples) name() string { return keys.Manager + "-" + s.config.Target + ".inventory" }

func (s *Samples) fail(op string, err error) error {
	return fmt.Errorf("%s samples of the inventory, ConfigMap %s/%s: %w", op, s.config.Namespace, s.name(), err)
}

// Load returns the samples in the order of time; none if there is no ConfigMap. The
// error matches ErrSamples if they cannot be read.
func (s *Samples) Load(ctx context.Context) ([]Sample, error) {
	_, samples, err := s.get(ctx)
	if err != nil {
		return nil, s.fail("load", err)
	}
	return samples, nil
}

// get reads the ConfigMap, nil if there is none.
func (s *Samples) get(ctx context.Context) (*corev1.ConfigMap, []Sample, error) {
	m := &corev1.ConfigMap{}
	err := kubeclient.Retry(ctx, func() error {
		return s.client.Get().Namespace(s.config.Namespace).Resource("configmaps").Name(s.name()).MaxRetries(0).Do(ctx).Into(m)
	})
	if kubeclient.NotFound(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	var samples []Sample
	if err := json.Unmarshal([]byte(m.Data[samplesKey]), &samples); err != nil {
		return m, nil, fmt.Errorf("%w: %w\nDelete the ConfigMap: they begin anew", ErrSamples, err)
	}
	return m, samples, nil
}

// Add keeps a sample, and drops the oldest where there are too many. One that comes
// within MinSampleGap of another one of its scope is not kept, so that looking often
// shortens no trend. A sample that another process adds at the same time is not lost.
// Those that are MinSampleGap or more later than this one are of a clock that was fast,
// and are dropped, of whatever scope: they would keep all others out until then.
func (s *Samples) Add(ctx context.Context, sample Sample) error {
	const attempts = 5
	for n := 1; ; n++ {
		m, samples, err := s.get(ctx)
		if err != nil {
			return s.fail("add to the", err)
		}
		if tooSoon(samples, sample) {
			return nil
		}
		samples = slices.DeleteFunc(samples, func(s Sample) bool { return s.Time.Sub(sample.Time) >= MinSampleGap })
		data, err := encodeSamples(append(samples, sample))
		if err != nil {
			return s.fail("add to the", err)
		}
		err = s.write(ctx, m, data)
		if err == nil {
			return nil
		}
		// Somebody else was first, or our own write whose answer was lost.
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !kubeclient.NotFound(err) || kubeclient.NamespaceMissing(err) || n == attempts {
			return s.fail("add to the", err)
		}
	}
}

// write creates the ConfigMap, or replaces the one that was read.
func (s *Samples) write(ctx context.Context, m *corev1.ConfigMap, data []byte) error {
	if m == nil {
		m = &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: s.name(), Namespace: s.config.Namespace, Labels: map[string]string{keys.ManagedBy: keys.Manager}},
			Data:       map[string]string{samplesKey: string(data)},
		}
		return s.client.Post().Namespace(s.config.Namespace).Resource("configmaps").Body(m).MaxRetries(0).Do(ctx).Error()
	}
	m = m.DeepCopy()
	m.ManagedFields = nil
	m.Data = map[string]string{samplesKey: string(data)}
	// The UID and the resourceVersion that were read are preconditions.
	return s.client.Put().Namespace(s.config.Namespace).Resource("configmaps").Name(m.Name).Body(m).MaxRetries(0).Do(ctx).Error()
}

// tooSoon says that a sample of the scope is kept of about the same time.
func tooSoon(samples []Sample, next Sample) bool {
	for _, s := range samples {
		if s.Scope == next.Scope && next.Time.Sub(s.Time).Abs() < MinSampleGap {
			return true
		}
	}
	return false
}

// encodeSamples drops the oldest until the rest is small enough.
func encodeSamples(samples []Sample) ([]byte, error) {
	samples = samples[max(0, len(samples)-MaxSamples):]
	for {
		data, err := json.Marshal(samples)
		if err != nil || len(data) <= maxSamplesSize || len(samples) == 0 {
			return data, err
		}
		samples = samples[(len(samples)+9)/10:]
	}
}
