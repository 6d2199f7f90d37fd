package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/lifecycle/supervise"
	"github.com/pharos-dev/pharos/lifecycle/supervise/workload"
)

// SuperviseConfig says which workloads the leader supervises.
type SuperviseConfig struct {
	// REST leads to the cluster. Required.
	REST *rest.Config
	// Namespaces are those whose workloads are supervised that ask for it, by the label
	// pharos.dev/supervise=true. At least one is required.
	Namespaces []string
	// Policy and Patience are those of each workload, and Every how long it waits between
	// two rounds: see workload.GroupConfig. The defaults are the same.
	Policy          supervise.Policy
	Patience, Every time.Duration
	// Leases are those of the targets that deliver the workloads, by the targets' names,
	// of which several namespaces may have one. While one is held in mode borrow or maintain, or cannot be read, the workloads with
	// the target's label are left alone, and so are those of other targets: whoever
	// watches their lease supervises them. The default is to ask none, and to supervise
	// all.
	Leases map[string][]Inspecter
	// Log receives restarts (info), what is parked, and what fails (warn), each once. The
	// default discards.
	Log *slog.Logger
}

// Supervise returns the task that restarts workloads within their budgets, see package
// lifecycle/supervise/workload. It makes no call. What it needs is in that package's
// comment, and to list deployments, statefulsets and daemonsets. Two leaders share the
// budget. Its metrics are those of the package comment.
func Supervise(c SuperviseConfig) (Task, error) {
	if c.REST == nil {
		return Task{}, errors.New("controller: SuperviseConfig.REST is missing")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	clock := &kubeclient.ServerClock{}
	client, err := dynamic.NewForConfig(clock.Listen(c.REST))
	if err != nil {
		return Task{}, fmt.Errorf("controller: %w", err)
	}
	s := newSupervised(c.Log)
	g, err := workload.NewGroup(workload.GroupConfig{Client: client, Namespaces: c.Namespaces, Policy: c.Policy, Patience: c.Patience,
		Every: c.Every, Clock: serverClock{clock}, Left: leftAlone(c.Leases), Observed: s.observed})
	if err != nil {
		return Task{}, fmt.Errorf("controller: %w", err)
	}
	return Task{Name: "supervise", Run: func(ctx context.Context) error {
		defer s.forget()
		return g.Run(ctx)
	}, Metrics: s}, nil
}

// serverClock tells the API server's time, which passes as this machine's.
type serverClock struct{ *kubeclient.ServerClock }

func (serverClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// supervised tells what the rounds came to.
type supervised struct {
	log                *slog.Logger
	restarts, failures prometheus.Counter
	workloads          prometheus.Gauge
	parked             *prometheus.GaugeVec

	mu sync.Mutex
	// told is what was said last of each workload, and of the round by "".
	told map[string]string
}

func newSupervised(log *slog.Logger) *supervised {
	return &supervised{
		log:       log,
		restarts:  prometheus.NewCounter(prometheus.CounterOpts{Name: "pharos_supervise_restarts_total", Help: "How often a workload was restarted."}),
		failures:  prometheus.NewCounter(prometheus.CounterOpts{Name: "pharos_supervise_failures_total", Help: "How often a workload or a namespace could not be looked at, or not be restarted."}),
		workloads: prometheus.NewGauge(prometheus.GaugeOpts{Name: "pharos_supervise_workloads", Help: "How many workloads are supervised."}),
		parked:    prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "pharos_supervise_parked", Help: "1 for each workload that is restarted no more."}, []string{"namespace", "kind", "name"}),
		told:      map[string]string{},
	}
}

// Describe implements prometheus.Collector.
func (s *supervised) Describe(ch chan<- *prometheus.Desc) {
	s.each(func(c prometheus.Collector) { c.Describe(ch) })
}

// Collect implements prometheus.Collector.
func (s *supervised) Collect(ch chan<- prometheus.Metric) {
	s.each(func(c prometheus.Collector) { c.Collect(ch) })
}

func (s *supervised) each(f func(prometheus.Collector)) {
	for _, c := range []prometheus.Collector{s.restarts, s.failures, s.workloads, s.parked} {
		f(c)
	}
}

// forget drops what only the leader knows.
func (s *supervised) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.workloads.Set(0)
	s.parked.Reset()
	s.told = map[string]string{}
}

// observed takes in a round.
func (s *supervised) observed(results []workload.Result, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.workloads.Set(float64(len(results)))
	s.parked.Reset()
	said := map[string]string{}
	if err != nil {
		s.failures.Inc()
		said[""] = err.Error()
		if s.told[""] != said[""] {
			s.log.Warn("workloads that ask for it are not supervised", "err", err)
		}
	}
	for _, r := range results {
		name := fmt.Sprintf("%s %s/%s", r.Kind, r.Namespace, r.Name)
		log, state := s.log.With("workload", name), r.Report.State
		if r.Report.Action == supervise.Restart {
			s.restarts.Inc()
			log.Info("restarted", "restarts", state.Restarts, "failure", r.Report.Observation.Failure)
		}
		switch {
		case r.Err != nil && r.Left != "":
			s.failures.Inc()
			if said[name] = r.Err.Error(); s.told[name] != said[name] {
				log.Warn("it is left alone", "reason", r.Left, "err", r.Err)
			}
		case r.Left != "":
			if said[name] = r.Left; s.told[name] != said[name] {
				log.Info("it is left alone", "reason", r.Left)
			}
		case r.Err != nil:
			s.failures.Inc()
			if said[name] = r.Err.Error(); s.told[name] != said[name] {
				log.Warn("it cannot be supervised", "err", r.Err)
			}
		case state.IsParked():
			if said[name] = "parked: " + state.Parked.Reason; s.told[name] != said[name] {
				log.Warn("it is parked and restarted no more", "reason", state.Parked.Reason)
			}
		}
		if state.IsParked() {
			s.parked.WithLabelValues(r.Namespace, string(r.Kind), r.Name).Set(1)
		}
	}
	s.told = said
}
