package controller

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are those of one controller, in a registry of its own.
type metrics struct {
	registry            *prometheus.Registry
	leader              prometheus.Gauge
	elections, failures prometheus.Counter
	running             *prometheus.GaugeVec
	taskFailures        *prometheus.CounterVec
	leases              *leaseMetrics
	takeovers           *takeoverMetrics
}

func newMetrics(c Config) *metrics {
	m := &metrics{
		registry:     prometheus.NewRegistry(),
		leader:       prometheus.NewGauge(prometheus.GaugeOpts{Name: "pharos_controller_leader", Help: "1 while this replica leads."}),
		elections:    prometheus.NewCounter(prometheus.CounterOpts{Name: "pharos_controller_elections_total", Help: "How often this replica became leader."}),
		failures:     prometheus.NewCounter(prometheus.CounterOpts{Name: "pharos_controller_failures_total", Help: "How often the lease could not be reached."}),
		running:      prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "pharos_task_running", Help: "1 while this replica runs the task."}, []string{"task"}),
		taskFailures: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pharos_task_failures_total", Help: "How often the task ended by itself and was run again."}, []string{"task"}),
		leases:       newLeaseMetrics(c.Watchdogs, c.Now),
		takeovers:    newTakeoverMetrics(c.Takeovers, c.Now),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "pharos_build_info", Help: "1, with the version.", ConstLabels: prometheus.Labels{"version": c.Version}})
	build.Set(1)
	m.registry.MustRegister(m.leader, m.elections, m.failures, m.running, m.taskFailures, m.leases, m.takeovers, build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
