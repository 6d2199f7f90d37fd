package parked

import (
	"strings"
	"testing"
	"time"
)

func TestOf(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	budget := `{"version":1,"restarts":5,"parked":{"reason":"5 restarts did not help","since":"2026-03-04T05:06:07Z"}}`
	for name, tt := range map[string]struct {
		kind        string
		annotations map[string]string
		want        string
	}{
		"by the supervisor":  {"Deployment", map[string]string{"pharos.dev/parked": "5 restarts did not help", "pharos.dev/restart-budget": budget}, "it is parked since " + since.Format(time.RFC3339) + ": 5 restarts did not help"},
		"by hand":            {"StatefulSet", map[string]string{"pharos.dev/parked": "ada\nlooks"}, "it is parked by hand: ada looks"},
		"without a reason":   {"DaemonSet", map[string]string{"pharos.dev/parked": " "}, "it is parked by hand: no reason is given"},
		"a damaged budget":   {"Deployment", map[string]string{"pharos.dev/parked": "x", "pharos.dev/restart-budget": "{"}, "it is parked by hand: x"},
		"unparked since":     {"Deployment", map[string]string{"pharos.dev/restart-budget": budget}, ""},
		"a copy":             {"ReplicaSet", map[string]string{"pharos.dev/parked": "x"}, ""},
		"a very long reason": {"Deployment", map[string]string{"pharos.dev/parked": strings.Repeat("ö", longest)}, "it is parked by hand: " + strings.Repeat("ö", longest/2) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, is := Of("apps", tt.kind, tt.annotations)
			if is != (tt.want != "") || is && p.String() != tt.want {
				t.Errorf("got %q, %t; want %q", p, is, tt.want)
			}
		})
	}
}
