package sweep_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/sizetest"
)

// A pass holds a page of objects, however many there are.
func TestPassOverManyStaysSmall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := 5_000
	if sizetest.Full() {
		n = 100_000
	}
	config := w.cluster.Config()
	config.QPS = -1
	maps := devtest.Client(t, config).CoreV1().ConfigMaps(w.ns)
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(32)
	for i := range n {
		m := &corev1.ConfigMap{ObjectMeta: transient(fmt.Sprintf("m%06d", i), later())}
		if i%10 == 0 {
			m.Annotations = past
		}
		g.Go(func() error { _, err := maps.Create(ctx, m, metav1.CreateOptions{}); return err })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childConfig+"="+devtest.Kubeconfig(t, w.cluster.Config()), childNamespace+"="+w.ns)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	used, err := strconv.Atoi(string(out))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("a pass over %d objects took %v of this processor and %d MiB", n, cmd.ProcessState.UserTime(), used>>20)
	if limit := 64 << 20; used >= limit {
		t.Errorf("it took %d MiB, want less than %d", used>>20, limit>>20)
	}
	left, over := 0, 0
	for next := ""; ; {
		page, err := w.admin.CoreV1().ConfigMaps(w.ns).List(t.Context(), metav1.ListOptions{LabelSelector: keys.Intent, Limit: 1000, Continue: next})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page.Items {
			left++
			if m.Annotations[keys.ExpiresAt] == past[keys.ExpiresAt] {
				over++
			}
		}
		if next = page.Continue; next == "" {
			break
		}
	}
	if left != n-n/10 || over != 0 {
		t.Errorf("%d are left, %d of them past their end; want %d", left, over, n-n/10)
	}
}
