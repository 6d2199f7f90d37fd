package supervise_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/pharos-dev/pharos/lifecycle/supervise"
)

// server is a process that a port of its own answers for.
type server struct{ build string }

func (s *server) Check(context.Context) (supervise.Observation, error) {
	return supervise.Observation{Revision: s.build, Failure: "it exited with status 1"}, nil
}

func (s *server) Restart(context.Context) error { return nil }

// A process that always ends: it is restarted, parked, and supervised again when
// there is another build of it.
func Example() {
	dir, err := os.MkdirTemp("", "budget")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	store, err := supervise.NewFile(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	api := &server{build: "a1b2c3"}
	s, err := supervise.New(supervise.Config{Thing: api, Store: store, Policy: supervise.Policy{Restarts: 2, Pause: -1}})
	if err != nil {
		fmt.Println(err)
		return
	}
	step := func() {
		r, err := s.Step(context.Background())
		switch {
		case err != nil:
			fmt.Println(err)
		case r.State.IsParked():
			fmt.Println("parked:", r.State.Parked.Reason)
		default:
			fmt.Printf("%d failures, %d restarts\n", r.State.Failures, r.State.Restarts)
		}
	}
	for range 6 {
		step()
	}
	api.build = "d4e5f6"
	step()
	// Output:
	// 1 failures, 0 restarts
	// 0 failures, 1 restarts
	// 1 failures, 1 restarts
	// 0 failures, 2 restarts
	// 1 failures, 2 restarts
	// parked: 2 restarts did not help: it exited with status 1
	// 1 failures, 0 restarts
}

// The rule can be asked without anything that is supervised.
func ExampleDecide() {
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	s := supervise.State{Failures: 1, Restarts: 3, RestartedAt: noon.Add(-time.Minute)}
	s, action := supervise.Decide(s, supervise.Observation{Failure: "it answers 500"}, noon, supervise.Policy{})
	fmt.Println(action, s.Restarts, supervise.Policy{}.Next(s).Sub(noon))
	// Output: restart 4 1m20s
}
