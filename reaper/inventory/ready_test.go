package inventory_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/reaper/inventory"
)

// What an API server that is starting does not name is not known, never missing or none.
func TestServerThatIsStarting(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	declared := b.mixed(t)
	config, readyz := faulty(t, b.cluster.Config(), faultproxy.Rule{Method: http.MethodGet, Path: regexp.MustCompile("^/readyz$"), Do: faultproxy.Answer(http.StatusInternalServerError)})
	look := func() inventory.Report {
		return take(t, config, inventory.Config{Target: "devbox"}, inventory.Request{Namespaces: []string{b.namespace}, Declared: declared})
	}
	r := look()
	if !r.Partial || !r.Sample().Partial || len(r.Coverage) != 1 || !strings.Contains(r.Coverage[0].Message, "/readyz") {
		t.Errorf("partial %t, coverage %+v", r.Partial, r.Coverage)
	}
	if len(r.Declared.Unknown) != 1 || r.Declared.Unknown[0].Kind != "Thing" || len(r.Declared.Missing) != 1 || r.Declared.Missing[0].Kind != "Deployment" {
		t.Errorf("declared: %+v", r.Declared)
	}
	readyz.Remove()
	if r = look(); r.Partial || len(r.Coverage) > 0 || len(r.Declared.Unknown) > 0 || len(r.Declared.Missing) != 2 {
		t.Errorf("it is ready: partial %t, coverage %+v, declared %+v", r.Partial, r.Coverage, r.Declared)
	}
}

// A sample that does not know all resources is no reading of those that it does not name.
func TestPartialSamples(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.create(t, `apiVersion: v1
kind: ConfigMap
metadata: {name: waits, namespace: NS, labels: {pharos.dev/intent: transient}, annotations: {pharos.dev/ttl: 1h}}`)
	samples := func(partial bool) (all []inventory.Sample) {
		for n := range 10 {
			s := inventory.Sample{Time: time.Now().Add(time.Duration(n-11) * time.Hour), Scope: b.namespace, Counts: map[string]int{"configmaps": 2}}
			if n%2 == 0 {
				s.Counts, s.Partial = nil, partial
			}
			all = append(all, s)
		}
		return all
	}
	for partial, readings := range map[bool]int{true: 0, false: 11} {
		r := take(t, b.cluster.Config(), inventory.Config{}, inventory.Request{Namespaces: []string{b.namespace}, Samples: samples(partial)})
		for _, g := range r.Transient {
			if g.Resource != "configmaps" {
				continue
			}
			// Half of the readings are too few to tell.
			if got := g.Trend; (got != nil) != (readings > 0) || got != nil && got.Readings != readings {
				t.Errorf("partial %t: the trend is %+v", partial, got)
			}
		}
	}
}
