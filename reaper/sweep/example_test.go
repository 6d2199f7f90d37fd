package sweep_test

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/reaper/sweep"
)

// An Ender makes no request before it is used.
func ExampleNew() {
	e, err := sweep.New(sweep.Config{
		REST:             &rest.Config{Host: "https://cluster.example"},
		DeletesPerSecond: 20,
		NotifyBefore:     time.Hour,
	})
	fmt.Println(e != nil, err)

	_, err = sweep.New(sweep.Config{REST: &rest.Config{}, NotifyBefore: -time.Hour})
	fmt.Println(err)
	// Output:
	// true <nil>
	// sweep: the configuration's NotifyBefore (-1h0m0s), StuckAfter (0s), RequestTimeout (0s) and ConcurrentDeletes (0) must not be negative
}

// A pass is what a cron job makes. With DryRun it says what it would delete.
func ExampleEnder_Pass() {
	pass := func(ctx context.Context, e *sweep.Ender) error {
		report, err := e.Pass(ctx, sweep.PassOptions{
			Resources: []string{"namespaces", "configmaps", "deployments.apps"},
			Each:      func(i sweep.Item) { fmt.Println(i.Outcome, i.Object) },
		})
		for _, f := range report.Findings {
			fmt.Printf("%s %s/%s: %s\n", f.Resource, f.Namespace, f.Name, f.Message)
		}
		for _, g := range report.Gaps {
			fmt.Printf("not looked at: %s: %s\n", g.What, g.Why)
		}
		return err
	}
	_ = pass
}

// End is for who knows by other means that an object may be past its end. It decides
// anew, so that it is safe to call too early, too late, or twice.
func ExampleEnder_End() {
	configMaps := sweep.Resource{Version: "v1", Resource: "configmaps", Kind: "ConfigMap", Namespaced: true}
	end := func(ctx context.Context, e *sweep.Ender, name, uid string) error {
		res, err := e.End(ctx, configMaps, "previews", name, uid)
		if err != nil {
			return err // of a request, or sweep.ErrUnsettled: try again later
		}
		switch res.Outcome {
		case sweep.Waiting:
			fmt.Println("it was extended until", res.Decision.Deadline)
		case sweep.Refused:
			fmt.Println("somebody has to look at it:", res.Decision.Message)
		}
		return nil
	}
	_ = end
}

// A Sweeper is what a controller runs while it leads: it ends objects at their deadlines.
func ExampleSweeper() {
	e, err := sweep.New(sweep.Config{REST: &rest.Config{Host: "https://cluster.example"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := sweep.NewSweeper(e, sweep.SweeperConfig{
		Resources: []string{"namespaces", "configmaps"},
		Observed: func(i sweep.Item, late time.Duration) {
			fmt.Println(i.Outcome, i.Object, "late by", late)
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	stop() // as the end of a leadership does
	fmt.Println(s.Run(ctx), s.State().Failing)

	_, err = sweep.NewSweeper(e, sweep.SweeperConfig{})
	fmt.Println(err)
	// Output:
	// <nil> 0
	// sweep: SweeperConfig.Resources is missing: nothing is swept by default
}
