package sweep_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
	"github.com/pharos-dev/pharos/reaper/sweep"
)

// A running sweep warns of an end once, and comes back for the end itself.
func TestSweepWarnsBeforeTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	waits := w.configMap(transient("waits", soon(30*time.Minute)))
	far := w.configMap(transient("far", soon(24*time.Hour)))
	r := w.start(w.ender(hourBefore))
	warned := func(m *corev1.ConfigMap) int { return len(w.events(w.ns, string(m.UID))) }
	eventually(t, "a warning of what ends within the hour", func() bool { return warned(waits) == 1 })

	ends := w.configMap(transient("ends", in(5*time.Second)))
	r.until("ends", sweep.Deleted)
	// Its end was put off while it was waited for: of that one it is warned anew.
	w.change(waits, func(m *corev1.ConfigMap) { m.Annotations[keys.ExpiresAt] = soon(40 * time.Minute)[keys.ExpiresAt] })
	eventually(t, "a warning of the new end", func() bool { return warned(waits) == 2 })
	w.annotate("waits", keys.ExpiresAt, reaper.FormatTime(time.Now()))
	r.until("waits", sweep.Deleted)
	for _, tc := range []struct {
		m    *corev1.ConfigMap
		want int
	}{{ends, 1}, {waits, 2}, {far, 0}} {
		if got := warned(tc.m); got != tc.want {
			t.Errorf("%s: %d warnings, want %d", tc.m.Name, got, tc.want)
		}
	}
}
