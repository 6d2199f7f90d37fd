package devtest_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// A watch that the API server ends does not end the wait, and what changed meanwhile is
// seen; the end of ctx does.
func TestAwait(t *testing.T) {
	t.Parallel()
	cluster := devtest.Cluster(t)
	maps := devtest.Client(t, cluster.Config()).CoreV1().ConfigMaps(devtest.Namespace(t, cluster))
	m, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	begun := 0
	short := func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		if begun++; begun == 2 {
			m.Data = map[string]string{"is": "wanted"}
			if _, err := maps.Update(ctx, m, metav1.UpdateOptions{}); err != nil {
				return nil, err
			}
		}
		o.TimeoutSeconds = ptr.To[int64](1)
		return maps.Watch(ctx, o)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	wanted := func(m *corev1.ConfigMap) bool { return m.Data["is"] == "wanted" }
	if last, err := devtest.Await(ctx, short, "m", wanted); err != nil || last.Data["is"] != "wanted" || begun != 2 {
		t.Errorf("after %d watches: %v, %v", begun, last, err)
	}
	cancel()
	if _, err := devtest.Await(ctx, short, "m", wanted); !errors.Is(err, context.Canceled) || begun != 2 {
		t.Errorf("after %d watches: %v", begun, err)
	}
}
