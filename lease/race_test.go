package lease_test

import (
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/internal/sizetest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lease/internal/racetest"
)

func TestMain(m *testing.M) {
	racetest.Main(func(_ racetest.Setup, _ *rest.Config, c lease.Config) (*racetest.Racer, error) {
		return &racetest.Racer{Config: racing(c), Mode: lease.ModeDeliver}, nil
	})
	os.Exit(m.Run())
}

// racing has times for which nobody has to wait long.
func racing(c lease.Config) lease.Config {
	c.Deliver = lease.Timing{Duration: 4 * time.Second, RenewEvery: time.Second}
	c.RequestTimeout, c.RetryPeriod, c.Margin, c.Grace = 700*time.Millisecond, 50*time.Millisecond, time.Second, time.Second
	return c
}

// Processes whose clocks are wrong, some of which are killed, suspended or lose
// their lease to somebody who breaks it, write under one lease. What they wrote
// shows who held it.
func TestRace(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	s := racetest.Setup{Namespace: devtest.Namespace(t, c)}
	config := racing(racetest.Config(c.Config(), s))
	racetest.Race{
		Cluster: c, Setup: s, Manager: manager(t, config), Mode: lease.ModeDeliver,
		Processes: sizetest.Of(20, 100), Rounds: sizetest.Of(50, 300), Waiting: 2,
		// A lease that is broken ends at once, without a margin.
		OnItsWay: config.Grace + time.Second,
	}.Run(t)
}

// Goroutines that try at once, without waiting: one gets it, the others learn
// who.
func TestRaceWithoutWaiting(t *testing.T) {
	t.Parallel()
	const contenders, rounds = 8, 5
	w := newWorld(t)
	for round := range rounds {
		held := make([]*lease.Held, contenders)
		errs := make([]error, contenders)
		var wg sync.WaitGroup
		begin := make(chan struct{})
		for i := range contenders {
			m := w.manager(t)
			wg.Go(func() {
				<-begin
				held[i], errs[i] = m.Acquire(t.Context(), deliver)
			})
		}
		close(begin)
		wg.Wait()
		winner := -1
		for i, err := range errs {
			switch {
			case err == nil && winner >= 0:
				t.Fatalf("round %d: %d and %d both hold it", round, winner, i)
			case err == nil:
				winner = i
			}
		}
		if winner < 0 {
			t.Fatalf("round %d: nobody holds it: %v", round, errs)
		}
		if token := held[winner].Token(); token != first+int64(round) {
			t.Errorf("round %d: token %d", round, token)
		}
		for i, err := range errs {
			var e *lease.HeldError
			if i != winner && (!errors.As(err, &e) || e.State.Holder != held[winner].Holder()) {
				t.Errorf("round %d: %v, want that %s holds it", round, err, held[winner].Holder())
			}
		}
		if err := held[winner].Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
