package reaper

import (
	"encoding/json"
	"errors"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

func TestRequestsOf(t *testing.T) {
	t.Parallel()
	const container = `{"name":"c","resources":{"requests":{"cpu":"250m","memory":"1Gi"}}}`
	for name, tc := range map[string]struct {
		group, kind, object string
		want                requests
	}{
		"what is no workload": {"", "ConfigMap", `{"spec":{"containers":[` + container + `]}}`, requests{}},
		"a pod":               {"", "Pod", `{"spec":{"containers":[` + container + `,` + container + `]}}`, requests{500, 2 << 30}},
		"limits alone":        {"", "Pod", `{"spec":{"containers":[{"resources":{"limits":{"cpu":1,"memory":"64M"}}}]}}`, requests{1000, 64000000}},
		"no requests":         {"", "Pod", `{"spec":{"containers":[{"name":"c"}]}}`, requests{}},
		"large at its start":  {"", "Pod", `{"spec":{"initContainers":[{"resources":{"requests":{"cpu":"2"}}}],"containers":[` + container + `]}}`, requests{2000, 1 << 30}},
		"a sidecar":           {"", "Pod", `{"spec":{"initContainers":[{"restartPolicy":"Always","resources":{"requests":{"cpu":"100m"}}}],"containers":[` + container + `]}}`, requests{350, 1 << 30}},
		"with overhead":       {"", "Pod", `{"spec":{"overhead":{"cpu":"50m"},"containers":[` + container + `]}}`, requests{300, 1 << 30}},
		"of the pod":          {"", "Pod", `{"spec":{"resources":{"requests":{"cpu":"3"}},"containers":[` + container + `]}}`, requests{3000, 1 << 30}},
		"a deployment":        {"apps", "Deployment", `{"spec":{"replicas":3,"template":{"spec":{"containers":[` + container + `]}}}}`, requests{750, 3 << 30}},
		"one replica":         {"apps", "StatefulSet", `{"spec":{"template":{"spec":{"containers":[` + container + `]}}}}`, requests{250, 1 << 30}},
		"no replica":          {"apps", "Deployment", `{"spec":{"replicas":0,"template":{"spec":{"containers":[` + container + `]}}}}`, requests{}},
		"a job":               {"batch", "Job", `{"spec":{"parallelism":2,"template":{"spec":{"containers":[` + container + `]}}}}`, requests{500, 2 << 30}},
		"a cron job":          {"batch", "CronJob", `{"spec":{"jobTemplate":{"spec":{"parallelism":2,"template":{"spec":{"containers":[` + container + `]}}}}}}`, requests{500, 2 << 30}},
		"another deployment":  {"example.org", "Deployment", `{"spec":{"replicas":3}}`, requests{}},
	} {
		got, err := requestsOf(tc.group, tc.kind, object(t, tc.object))
		if err != nil || got != tc.want {
			t.Errorf("%s: %+v and %v, want %+v", name, got, err, tc.want)
		}
	}
	for name, tc := range map[string]struct{ group, kind, object string }{
		"a DaemonSet":     {"apps", "DaemonSet", `{}`},
		"no spec":         {"", "Pod", `{"spec":7}`},
		"no quantity":     {"", "Pod", `{"spec":{"containers":[{"resources":{"requests":{"cpu":"much"}}}]}}`},
		"replicas, text":  {"apps", "Deployment", `{"spec":{"replicas":"3"}}`},
		"fewer than none": {"apps", "Deployment", `{"spec":{"replicas":-3}}`},
		"negative":        {"", "Pod", `{"spec":{"containers":[{"resources":{"requests":{"cpu":"-2"}}}]}}`},
		"overflow":        {"apps", "Deployment", `{"spec":{"replicas":9000000000000,"template":{"spec":{"containers":[` + container + `]}}}}`},
		"huge":            {"", "Pod", `{"spec":{"containers":[{"resources":{"requests":{"memory":"7E"}}}]}}`},
		"huge together":   {"apps", "Deployment", `{"spec":{"replicas":2,"template":{"spec":{"containers":[{"resources":{"requests":{"memory":"1P"}}}]}}}}`},
	} {
		if got, err := requestsOf(tc.group, tc.kind, object(t, tc.object)); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if _, err := requestsOf("apps", "DaemonSet", nil); !errors.Is(err, errUnknownRequests) {
		t.Errorf("error %v", err)
	}
}

func object(t *testing.T, text string) (o map[string]any) {
	t.Helper()
	if err := utiljson.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func FuzzRequests(f *testing.F) {
	f.Add("apps", "Deployment", []byte(`{"spec":{"replicas":3,"template":{"spec":{"containers":[{"resources":{"requests":{"cpu":"250m"}}}]}}}}`))
	f.Fuzz(func(t *testing.T, group, kind string, text []byte) {
		var o map[string]any
		if json.Unmarshal(text, &o) != nil || utiljson.Unmarshal(text, &o) != nil {
			return
		}
		if r, err := requestsOf(group, kind, o); err == nil && (r.CPU < 0 || r.Memory < 0) {
			t.Errorf("%+v", r)
		}
	})
}
