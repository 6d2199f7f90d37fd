package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
	"github.com/pharos-dev/pharos/reaper/sweep"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// reapAll sweeps until that many objects have ended.
func reapAll(ctx context.Context, kubeconfig, namespace string, n int, stdout io.Writer) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	e, err := sweep.New(sweep.Config{REST: config, DeletesPerSecond: -1, ConcurrentDeletes: reapAtOnce})
	if err != nil {
		return err
	}
	results := make(chan error, n)
	s, err := sweep.NewSweeper(e, sweep.SweeperConfig{Resources: []string{"configmaps"}, Namespace: namespace, Observed: func(i sweep.Item, _ time.Duration) {
		if i.Err == nil && i.Outcome != sweep.Deleted {
			i.Err = errors.New(i.Object.String() + " is " + string(i.Outcome))
		}
		results <- i.Err
	}})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	for range n {
		select {
		case ended := <-results:
			err = errors.Join(err, ended)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	stop()
	fmt.Fprintln(stdout, n)
	return errors.Join(err, <-done)
}

// reapBare reads and deletes the same objects, and does nothing else.
func reapBare(ctx context.Context, kubeconfig, namespace string, stdout io.Writer) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	return reapLoop(ctx, config, namespace, stdout)
}

func reapLoop(ctx context.Context, config *rest.Config, namespace string, stdout io.Writer) error {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	objects := client.Resource(configMaps).Namespace(namespace)
	list, err := objects.List(ctx, metav1.ListOptions{LabelSelector: keys.Intent + "=" + string(reaper.Transient)})
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(reapAtOnce)
	for _, o := range list.Items {
		g.Go(func() error {
			if _, err := objects.Get(ctx, o.Name, metav1.GetOptions{}); err != nil {
				return err
			}
			return objects.Delete(ctx, o.Name, metav1.DeleteOptions{})
		})
	}
	fmt.Fprintln(stdout, len(list.Items))
	return g.Wait()
}
