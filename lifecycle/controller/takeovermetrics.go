package controller

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/restore"
)

// takeoverMetrics are those of the sessions of takeovers. Their gauges are those of the
// leader: a replica that stands by has none, since what it saw last is long past.
type takeoverMetrics struct {
	now func() time.Time

	workloads, failures *prometheus.CounterVec

	mu   sync.Mutex
	seen map[string]*seenSession // by the task's name
}

// seenSession is what was seen last of a target's session.
type seenSession struct {
	labels         []string
	diverted, over float64
	good           time.Time // when a pass succeeded last
}

var (
	takeoverDiverted = prometheus.NewDesc("pharos_takeover_workloads", "How many workloads of the target may be taken over.", ofTarget, nil)
	takeoverOver     = prometheus.NewDesc("pharos_takeover_over", "1 while a takeover is over and not yet ended.", ofTarget, nil)
	takeoverLooked   = prometheus.NewDesc("pharos_takeover_watch_success_timestamp_seconds", "When the sessions of takeovers were looked after last, in Unix time.", ofTarget, nil)
)

func newTakeoverMetrics(takeovers []Takeover, now func() time.Time) *takeoverMetrics {
	m := &takeoverMetrics{
		now:       now,
		workloads: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pharos_takeover_restored_total", Help: "What became of the workloads of takeovers that this replica ended."}, append(ofTarget[:len(ofTarget):len(ofTarget)], "outcome")),
		failures:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pharos_takeover_watch_failures_total", Help: "How many passes over the sessions of takeovers failed."}, ofTarget),
		seen:      map[string]*seenSession{},
	}
	for _, t := range takeovers {
		m.failures.WithLabelValues(t.Namespace, t.Target)
		for _, o := range []divert.Outcome{divert.OutcomeRestored, divert.OutcomeWhole, divert.OutcomeGone, divert.OutcomeReplaced} {
			m.workloads.WithLabelValues(t.Namespace, t.Target, string(o))
		}
	}
	return m
}

// observed takes over what a pass came to.
func (m *takeoverMetrics) observed(t Takeover, r restore.Report, err error) {
	for _, w := range r.Workloads {
		if w.Err == nil {
			m.workloads.WithLabelValues(t.Namespace, t.Target, string(w.Outcome)).Inc()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	is := m.seen[t.name()]
	if is == nil {
		is = &seenSession{labels: []string{t.Namespace, t.Target}}
		m.seen[t.name()] = is
	}
	if err != nil {
		m.failures.WithLabelValues(t.Namespace, t.Target).Inc()
	}
	if err == nil || r.Session != "" || r.Reason != "" { // what was not read may be as it was
		is.diverted, is.over = float64(r.Diverted), truth(r.Reason != "" && !r.Done)
	}
	if err == nil {
		is.good = m.now()
	}
}

// forget ends the gauges of a target that is not watched any more.
func (m *takeoverMetrics) forget(t Takeover) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.seen, t.name())
}

// Describe implements prometheus.Collector.
func (m *takeoverMetrics) Describe(ch chan<- *prometheus.Desc) {
	m.workloads.Describe(ch)
	m.failures.Describe(ch)
	for _, d := range []*prometheus.Desc{takeoverDiverted, takeoverOver, takeoverLooked} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *takeoverMetrics) Collect(ch chan<- prometheus.Metric) {
	m.workloads.Collect(ch)
	m.failures.Collect(ch)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.seen {
		gauge := func(d *prometheus.Desc, value float64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, s.labels...)
		}
		gauge(takeoverDiverted, s.diverted)
		gauge(takeoverOver, s.over)
		if !s.good.IsZero() {
			gauge(takeoverLooked, float64(s.good.UnixMilli())/1000)
		}
	}
}
