package ephemeral_test

import (
	"context"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper/ephemeral"
)

// Not parallel: it looks at all goroutines of the process.
func TestNothingRunsAfterTheTest(t *testing.T) {
	c, client := cluster(t)
	leave(t, client, nil)
	leave(t, client, nil, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept", Labels: map[string]string{keys.Intent: "retained"}}})
	t.Run("inner", func(t *testing.T) {
		ephemeral.Namespace(t, c.Config(), ephemeral.Options{})
		await(t, "a heartbeat is waited for", func(context.Context) bool { return len(ours()) > 0 })
	})
	if left := ours(); len(left) > 0 {
		t.Errorf("these goroutines run on:\n%s", strings.Join(left, "\n\n"))
	}
}

// ours are the stacks of goroutines of what is tested.
func ours() []string {
	buf := make([]byte, 1<<22)
	var found []string
	for s := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(s, "testing.tRunner(") {
			continue // a test, such as one that waits for its turn
		}
		if strings.Contains(s, "/reaper/ephemeral.") || strings.Contains(s, "/reaper/sweep.") {
			found = append(found, s)
		}
	}
	return found
}
