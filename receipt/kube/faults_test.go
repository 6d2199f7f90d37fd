package kube_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/faultproxy"
	"github.com/pharos-dev/pharos/receipt"
	"github.com/pharos-dev/pharos/receipt/kube"
)

// A server in trouble: what is safe to repeat is repeated, and the result is
// as if nothing had happened.
func TestFaults(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	faults := map[string]faultproxy.Rule{
		"429":         {Do: faultproxy.Answer(http.StatusTooManyRequests)},
		"429 wait":    {Do: faultproxy.TooManyRequests(time.Second)},
		"500":         {Do: faultproxy.Answer(http.StatusInternalServerError)},
		"504 done":    {Do: faultproxy.Answer(http.StatusGatewayTimeout), AfterUpstream: true},
		"request cut": {Do: faultproxy.Cut()},
		"answer cut":  {Do: faultproxy.Cut(), AfterUpstream: true},
	}
	for name, rule := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule.Match = every(2)
			config, fault := faulty(t, c.Config(), rule)
			s := open(t, config, devtest.Namespace(t, c), "devbox")
			ctx := t.Context()
			id, err := s.Put(ctx, record("devbox", 1))
			if err != nil {
				t.Fatalf("Put: %v", err)
			}
			for n := range 2 {
				if err := s.AddOutcome(ctx, id, outcome(n)); err != nil {
					t.Fatalf("AddOutcome: %v", err)
				}
			}
			var p receipt.Pointers
			for _, want := range []receipt.Pointers{{Applied: id}, {Applied: id, Live: id}, {Applied: id}} {
				if p, err = s.SetPointers(ctx, p, want); err != nil {
					t.Fatalf("SetPointers: %v", err)
				}
				if now, err := s.Pointers(ctx); err != nil || now != p || now.Applied != want.Applied {
					t.Errorf("pointers %v, %v, want %v", now, err, want)
				}
			}
			if r, err := s.Get(ctx, id); err != nil || !cmp.Equal(r, record("devbox", 1)) {
				t.Errorf("Get: %v, %v", r, err)
			}
			if o, err := s.Outcomes(ctx, id); err != nil || !slices.EqualFunc(o, []receipt.Outcome{outcome(0), outcome(1)}, func(a, b receipt.Outcome) bool { return cmp.Equal(a, b) }) {
				t.Errorf("Outcomes: %v, %v", o, err)
			}
			if l, err := s.List(ctx); err != nil || len(l) != 1 || l[0].Last == nil {
				t.Errorf("List: %v, %v", l, err)
			}
			if fault.Hits() < 10 {
				t.Errorf("only %d requests failed", fault.Hits())
			}
		})
	}
	t.Run("never answers well", func(t *testing.T) {
		t.Parallel()
		for _, name := range []string{"429", "500", "504 done", "request cut", "answer cut"} {
			config, _ := faulty(t, c.Config(), faults[name])
			s := open(t, config, devtest.Namespace(t, c), "devbox")
			_, err := s.Put(t.Context(), record("devbox", 1))
			var e *kube.Error
			if !errors.As(err, &e) || e.Op != "write receipt" {
				t.Errorf("%s: Put: %v, want a *kube.Error", name, err)
			}
		}
	})
	t.Run("pointers race with lost answers", func(t *testing.T) {
		t.Parallel()
		ns := devtest.Namespace(t, c)
		third := every(3)
		config, fault := faulty(t, c.Config(), faultproxy.Rule{
			Match:         func(r *http.Request) bool { return r.Method != http.MethodGet && third(r) },
			AfterUpstream: true, Do: faultproxy.Cut(),
		})
		const writers = 6
		var p receipt.Pointers
		for round := range 4 {
			type result struct {
				p   receipt.Pointers
				err error
			}
			results := make(chan result, writers)
			for w := range writers {
				s := open(t, config, ns, "devbox")
				id, err := record("devbox", w).ID()
				if err != nil {
					t.Fatal(err)
				}
				go func() {
					p, err := s.SetPointers(t.Context(), p, receipt.Pointers{Applied: id})
					results <- result{p, err}
				}()
			}
			var won []receipt.Pointers
			for range writers {
				r := <-results
				switch {
				case r.err == nil:
					won = append(won, r.p)
				case !errors.Is(r.err, receipt.ErrConflict):
					t.Errorf("round %d: %v, want ErrConflict", round, r.err)
				}
			}
			if len(won) != 1 {
				t.Fatalf("round %d: %d writers won, want 1", round, len(won))
			}
			p = won[0]
		}
		if fault.Hits() < 4 {
			t.Errorf("only %d answers were lost", fault.Hits())
		}
	})
}

// every matches the first of each n requests.
func every(n int) func(*http.Request) bool {
	seen := 0
	return func(*http.Request) bool {
		seen++
		return seen%n == 1
	}
}

// faulty returns a copy of the configuration that goes through a proxy with a
// fault.
func faulty(t *testing.T, config *rest.Config, rule faultproxy.Rule) (*rest.Config, *faultproxy.Fault) {
	t.Helper()
	proxy, err := faultproxy.ForCluster(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	return proxy.Config(config), proxy.Add(rule)
}
