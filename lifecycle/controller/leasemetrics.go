package controller

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pharos-dev/pharos/lease"
)

// leaseMetrics are those of the watchdogs. Their gauges are those of the leader: a
// replica that stands by has none, since what it saw last is long past.
type leaseMetrics struct {
	now func() time.Time

	opened, failures, notConverged *prometheus.CounterVec

	mu   sync.Mutex
	seen map[string]*seen // by the watchdog's name
}

// seen is what a watchdog saw last.
type seen struct {
	labels  []string
	state   lease.State
	at      time.Time // when the state was read
	pending int
	good    time.Time // when a pass succeeded last
}

var (
	ofTarget    = []string{"namespace", "target"}
	leaseHeld   = prometheus.NewDesc("pharos_lease_held", "1 for the mode in which the target's lease is held, 0 for the others.", append(slices.Clip(ofTarget), "mode"), nil)
	leaseLeft   = prometheus.NewDesc("pharos_lease_left_seconds", "How long the target's lease is held at most unless it is renewed; +Inf if it does not end by itself.", ofTarget, nil)
	leasePends  = prometheus.NewDesc("pharos_lease_pending", "How much of what leases covered is not yet as it is declared.", ofTarget, nil)
	leaseLooked = prometheus.NewDesc("pharos_lease_watch_success_timestamp_seconds", "When a pass of the watchdog succeeded last, in Unix time.", ofTarget, nil)
)

func newLeaseMetrics(watchdogs []Watchdog, now func() time.Time) *leaseMetrics {
	m := &leaseMetrics{
		now:          now,
		opened:       prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pharos_lease_gates_opened_total", Help: "How many gates that leases left closed this replica opened."}, ofTarget),
		failures:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pharos_lease_watch_failures_total", Help: "How many passes of the watchdog failed."}, ofTarget),
		notConverged: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pharos_lease_not_converged_total", Help: "How much of what leases covered did not become what is declared, or took longer than five minutes."}, ofTarget),
		seen:         map[string]*seen{},
	}
	for _, d := range watchdogs {
		m.opened.WithLabelValues(d.Namespace, d.Target)
		m.failures.WithLabelValues(d.Namespace, d.Target)
		m.notConverged.WithLabelValues(d.Namespace, d.Target)
	}
	return m
}

// observed takes over what a pass came to.
func (m *leaseMetrics) observed(d Watchdog, s lease.State, r lease.Report, err error) {
	m.opened.WithLabelValues(d.Namespace, d.Target).Add(float64(len(r.Opened)))
	m.mu.Lock()
	defer m.mu.Unlock()
	is := m.seen[d.name()]
	if is == nil {
		is = &seen{labels: []string{d.Namespace, d.Target}}
		m.seen[d.name()] = is
	}
	if !s.Now.IsZero() {
		is.state, is.at = s, m.now()
	}
	if err != nil {
		m.failures.WithLabelValues(d.Namespace, d.Target).Inc()
		return
	}
	is.good, is.pending = m.now(), len(r.Pending)
}

// forget ends the gauges of a target that is not watched any more.
func (m *leaseMetrics) forget(d Watchdog) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.seen, d.name())
}

// Describe implements prometheus.Collector.
func (m *leaseMetrics) Describe(ch chan<- *prometheus.Desc) {
	m.opened.Describe(ch)
	m.failures.Describe(ch)
	m.notConverged.Describe(ch)
	for _, d := range []*prometheus.Desc{leaseHeld, leaseLeft, leasePends, leaseLooked} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *leaseMetrics) Collect(ch chan<- prometheus.Metric) {
	m.opened.Collect(ch)
	m.failures.Collect(ch)
	m.notConverged.Collect(ch)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.seen {
		gauge := func(d *prometheus.Desc, value float64, more ...string) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, append(slices.Clip(s.labels), more...)...)
		}
		if !s.at.IsZero() {
			modes := []lease.Mode{lease.ModeDeliver, lease.ModeBorrow, lease.ModeMaintain, "other"}
			mode := s.state.Mode
			if !slices.Contains(modes, mode) {
				mode = "other" // whatever was written there
			}
			for _, of := range modes {
				gauge(leaseHeld, truth(s.state.Held && of == mode), string(of))
			}
			gauge(leaseLeft, s.left(m.now()))
		}
		if !s.good.IsZero() {
			gauge(leasePends, float64(s.pending))
			gauge(leaseLooked, float64(s.good.UnixMilli())/1000)
		}
	}
}

// left is how long the lease lasts from now, in seconds.
func (s *seen) left(now time.Time) float64 {
	switch {
	case !s.state.Held:
		return 0
	case s.state.Expires.IsZero():
		return math.Inf(1)
	}
	return max(0, (s.state.Expires.Sub(s.state.Now) - now.Sub(s.at)).Seconds())
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
