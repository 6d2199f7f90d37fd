package workload_test

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lifecycle/supervise"
	"github.com/pharos-dev/pharos/lifecycle/supervise/workload"
)

// A task of a controller that supervises a Deployment, whose budget is full again
// after a day without failures.
func ExampleNew() {
	client, err := dynamic.NewForConfig(&rest.Config{Host: "https://cluster.example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	api, err := workload.New(workload.Config{Client: client, Kind: workload.Deployment, Namespace: "shop", Name: "api"})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := supervise.New(supervise.Config{
		Thing: api, Store: api,
		Policy: supervise.Policy{Refill: 24 * time.Hour},
		Every:  time.Minute,
		Observed: func(r supervise.Report, err error) {
			fmt.Println(r.Action, err)
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	stop() // as the end of a leadership does
	fmt.Println(api, s.Run(ctx))
	// Output: Deployment shop/api <nil>
}

// What is parked can be told from the annotations of a workload that was read
// anyway.
func ExampleStateOf() {
	s, err := workload.StateOf(map[string]string{
		"pharos.dev/parked":         "5 restarts did not help: pod api-6f7d9 is not ready since 2026-03-04T12:00:00Z",
		"pharos.dev/restart-budget": `{"version":1,"revision":"7","failures":2,"restarts":5,"restartedAt":"2026-03-04T12:30:00Z"}`,
	})
	fmt.Println(s.IsParked(), s.Restarts, s.Parked.Reason, err)
	// Output: true 5 5 restarts did not help: pod api-6f7d9 is not ready since 2026-03-04T12:00:00Z <nil>
}

// All workloads of two namespaces that have the label pharos.dev/supervise=true.
func ExampleGroup() {
	client, err := dynamic.NewForConfig(&rest.Config{Host: "https://cluster.example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := workload.NewGroup(workload.GroupConfig{
		Client: client, Namespaces: []string{"shop", "mail"},
		Observed: func(results []workload.Result, err error) {
			for _, r := range results {
				if r.Report.Action == supervise.Park {
					fmt.Println(r.Kind, r.Namespace, r.Name, "is parked:", r.Report.State.Parked.Reason)
				}
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	stop() // as the end of a leadership does
	fmt.Println(g.Run(ctx))
	// Output: <nil>
}
