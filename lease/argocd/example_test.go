package argocd_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lease/argocd"
)

// A lease of one Application: while it is held, Argo CD leaves that one as it is.
func Example() {
	ctx := context.Background()
	cluster := &rest.Config{Host: "https://cluster.example"}
	gate, err := argocd.New(argocd.Config{
		REST:         cluster,
		Applications: func(context.Context) ([]string, error) { return []string{"api", "web"}, nil },
	})
	if err != nil {
		log.Fatal(err)
	}
	manager, err := lease.New(lease.Config{REST: cluster, Namespace: "pharos", Target: "devbox", Gate: gate})
	if err != nil {
		log.Fatal(err)
	}
	held, err := manager.Acquire(ctx, lease.Request{Mode: lease.ModeBorrow, Purpose: "debug the checkout", Covers: []string{"api"}, Wait: time.Minute})
	if err != nil {
		log.Fatal(err) // lease.ErrBusy: a sync runs, and does not end
	}
	lost, stop := held.Keep(ctx) // moves the end of the windows
	defer stop()
	select {
	case err := <-lost:
		log.Print(err) // lease.ErrOpened: somebody removed a window
	case <-time.After(time.Hour):
	}
	report, err := held.Open(ctx) // gives what it covered back to Argo CD
	fmt.Println(report.Pending, err, held.Release(ctx))
}

// Everything that is wrong with a configuration is said at once.
func ExampleNew() {
	_, err := argocd.New(argocd.Config{REST: &rest.Config{Host: "https://cluster.example"}, Namespace: "Argo CD", Answer: -time.Second})
	fmt.Println(errors.Is(err, lease.ErrInvalid))
	fmt.Println(err)
	// Output:
	// true
	// lease/argocd: invalid Config: Applications is required
	// Namespace "Argo CD": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')
	// Answer is -1s, want more than 0
}
