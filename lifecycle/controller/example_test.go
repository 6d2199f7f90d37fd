package controller_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lease/argocd"
	"github.com/pharos-dev/pharos/lifecycle/controller"
	"github.com/pharos-dev/pharos/reaper/sweep"
)

// A controller that watches the lease of a target which Argo CD delivers, and has
// a task of its own.
func ExampleNew() {
	cluster := &rest.Config{Host: "https://cluster.example"}
	fail := func(err error) bool {
		if err != nil {
			fmt.Println(err)
		}
		return err != nil
	}
	gate, err := argocd.New(argocd.Config{REST: cluster, Applications: func(context.Context) ([]string, error) {
		return []string{"shop-api", "shop-web"}, nil
	}})
	if fail(err) {
		return
	}
	devbox, err := lease.New(lease.Config{REST: cluster, Namespace: "pharos", Target: "devbox", Gate: gate})
	if fail(err) {
		return
	}
	leaders, err := lease.New(lease.Config{REST: cluster, Namespace: "pharos", Target: "devbox", Name: "pharos-devbox.controller"})
	if fail(err) {
		return
	}
	events, err := controller.NewLeaseEvents(cluster, "controller-0", time.Now)
	if fail(err) {
		return
	}
	c, err := controller.New(controller.Config{
		Lease: leaders, Identity: "controller-0", Version: "v1.2.0", Events: events,
		Watchdogs: []controller.Watchdog{{Namespace: "pharos", Target: "devbox", Lease: devbox}},
		Tasks: []controller.Task{{Name: "tidy", Run: func(ctx context.Context) error {
			<-ctx.Done() // until the leadership ends
			return nil
		}}},
	})
	if fail(err) {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	stop() // as SIGTERM does
	fmt.Println(c.Run(ctx))
	// Output: <nil>
}

// Without a Lease there is nothing to lead, and no cluster is asked.
func ExampleController() {
	c, err := controller.New(controller.Config{Version: "v1.2.0"}) // no Lease: it asks nothing of a cluster
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(c.Handler())
	defer server.Close()
	ctx, stop := context.WithCancel(context.Background())
	stop()
	fmt.Println(c.Run(ctx))
	answer, err := server.Client().Get(server.URL + "/readyz")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	fmt.Println(answer.Status)
	// Output:
	// <nil>
	// 200 OK
}

// A task that restarts the workloads of a namespace that ask for it, within their budgets.
func ExampleSupervise() {
	t, err := controller.Supervise(controller.SuperviseConfig{REST: &rest.Config{Host: "https://cluster.example"}, Namespaces: []string{"shop"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	stop() // as the end of the leadership does
	fmt.Println(t.Name, t.Run(ctx))
	// Output: supervise <nil>
}

// What the leader ends. Without a Sweep it ends nothing.
func ExampleSweep() {
	cluster := &rest.Config{Host: "https://cluster.example"}
	e, err := sweep.New(sweep.Config{REST: cluster, Events: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	leaders, err := lease.New(lease.Config{REST: cluster, Namespace: "pharos", Target: "devbox", Name: "pharos-devbox.controller"})
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := controller.New(controller.Config{Lease: leaders, Identity: "controller-0", Sweep: &controller.Sweep{
		Ender: e, SweeperConfig: sweep.SweeperConfig{Resources: []string{"configmaps", "jobs.batch"}},
	}})
	fmt.Println(c != nil, err)
	// Output: true <nil>
}
