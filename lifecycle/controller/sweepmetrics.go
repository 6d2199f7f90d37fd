package controller

import (
	"cmp"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pharos-dev/pharos/reaper/sweep"
)

// sweepMetrics are those of the sweep. Its gauges are those of the leader: a replica
// that stands by has none.
type sweepMetrics struct {
	state func() sweep.State

	ends     *prometheus.CounterVec
	lateness prometheus.Histogram
}

var (
	sweepObjects = prometheus.NewDesc("pharos_sweep_objects", "How many objects say that they end.", []string{"resource", "class"}, nil)
	sweepOldest  = prometheus.NewDesc("pharos_sweep_oldest_timestamp_seconds", "When the oldest object that says that it ends was created, in Unix time.", nil, nil)
	sweepFailing = prometheus.NewDesc("pharos_sweep_failing", "How many objects could not be ended at the last try.", nil, nil)
	sweepGap     = prometheus.NewDesc("pharos_sweep_gap", "1 for each resource or group whose objects are not seen.", []string{"what"}, nil)
)

// sweepResults are the outcomes by their labels.
var sweepResults = []string{"deleted", "woulddelete", "gone", "kept", "waiting", "refused", "failed"}

func newSweepMetrics() *sweepMetrics {
	m := &sweepMetrics{
		ends: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pharos_sweep_ends_total", Help: "What became of objects at their end."}, []string{"result"}),
		lateness: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "pharos_sweep_lateness_seconds", Help: "How long after its end an object was deleted.",
			Buckets: []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800}}),
	}
	for _, r := range sweepResults {
		m.ends.WithLabelValues(r)
	}
	return m
}

// observed counts what became of an object.
func (m *sweepMetrics) observed(i sweep.Item, late time.Duration) {
	m.ends.WithLabelValues(cmp.Or(strings.ToLower(string(i.Outcome)), "failed")).Inc()
	if i.Outcome == sweep.Deleted {
		m.lateness.Observe(late.Seconds())
	}
}

// Describe implements prometheus.Collector.
func (m *sweepMetrics) Describe(ch chan<- *prometheus.Desc) {
	m.ends.Describe(ch)
	m.lateness.Describe(ch)
	for _, d := range []*prometheus.Desc{sweepObjects, sweepOldest, sweepFailing, sweepGap} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *sweepMetrics) Collect(ch chan<- prometheus.Metric) {
	m.ends.Collect(ch)
	m.lateness.Collect(ch)
	s := m.state()
	if s.Objects == nil {
		return
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	for resource, of := range s.Objects {
		for class, n := range of {
			gauge(sweepObjects, float64(n), resource, string(class))
		}
	}
	if !s.Oldest.IsZero() {
		gauge(sweepOldest, float64(s.Oldest.Unix()))
	}
	gauge(sweepFailing, float64(s.Failing))
	told := map[string]bool{}
	for _, g := range s.Gaps {
		// No label may be anything else, and it may be a flag of somebody's.
		if what := strings.ToValidUTF8(g.What, "\ufffd"); !told[what] {
			told[what] = true
			gauge(sweepGap, 1, what)
		}
	}
}
