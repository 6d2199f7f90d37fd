package main

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
)

const (
	reapObjects = 2000 // that are deleted in a round
	reapAtOnce  = 16   // deletions
)

// reaps compares the ends of many objects with a loop that does nothing but read and
// delete them, as many at once; and ends at their time with a tool that lists
// everything now and then.
func reaps(ctx context.Context, b *bench) ([]comparison, error) {
	cluster, err := devenv.Start(ctx, devenv.Options{Output: b.progress})
	if err != nil {
		return nil, err
	}
	b.closers = append(b.closers, cluster.Stop)
	config := rest.CopyConfig(cluster.Config())
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	r := &reapCases{client: client, config: config}
	ours := side{name: "reaper/sweep", before: r.over, run: func(ctx context.Context) error {
		return command{path: b.self, args: []string{childFlag, "reap", cluster.Kubeconfig(), r.namespace, fmt.Sprint(reapObjects)}}.run(ctx)
	}}
	bare := side{name: "bare GET and DELETE", before: r.over, run: func(ctx context.Context) error {
		return command{path: b.self, args: []string{childFlag, "reap-bare", cluster.Kubeconfig(), r.namespace}}.run(ctx)
	}}
	rate := &reapRate{cases: r}
	sweeping, listing := &punctual{name: "reaper/sweep"}, &punctual{name: "listing"}
	return []comparison{
		{name: fmt.Sprintf("delete %d objects that are past their end", reapObjects), ours: ours, peer: bare, cold: true},
		{
			name: fmt.Sprintf("delete %d objects at an end that they share, in one process", reapObjects), cold: true,
			ours: side{name: "reaper/sweep", before: rate.sweepBegins, run: rate.sweep},
			peer: side{name: "bare GET and DELETE", before: r.over, run: func(ctx context.Context) error { return reapLoop(ctx, r.config, r.namespace, io.Discard) }},
		},
		{
			name: fmt.Sprintf("%d of %d objects end within %s, in one process", punctualEnds, punctualObjects, punctualWithin), cold: true,
			ours: side{name: "reaper/sweep", before: r.soon, run: func(ctx context.Context) error { return sweeping.sweep(ctx, r) }},
			peer: side{name: fmt.Sprintf("list everything every %s", listEvery), before: r.soon, run: func(ctx context.Context) error { return listing.list(ctx, r) }},
			note: func(context.Context) (string, error) { return sweeping.String() + "; " + listing.String(), nil },
		},
	}, nil
}

// reapCases are the objects of a round, in a namespace of its own.
type reapCases struct {
	client    kubernetes.Interface
	config    *rest.Config
	counter   atomic.Int32
	namespace string
	ends      map[string]time.Time // by name
}

// over makes objects that are past their end.
func (r *reapCases) over(ctx context.Context) error {
	ends := map[string]time.Time{}
	for i := range reapObjects {
		ends[fmt.Sprintf("preview-%04d", i)] = time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	}
	return r.create(ctx, ends)
}

// soon makes objects of which some end while they are looked after.
func (r *reapCases) soon(ctx context.Context) error {
	ends := map[string]time.Time{}
	for i := range punctualObjects {
		ends[fmt.Sprintf("preview-%04d", i)] = time.Date(2999, 1, 2, 3, 4, 5, 0, time.UTC)
	}
	if err := r.create(ctx, ends); err != nil {
		return err
	}
	begin := time.Now().Truncate(time.Second).Add(5 * time.Second)
	ends = map[string]time.Time{}
	for i := range punctualEnds {
		ends[fmt.Sprintf("soon-%04d", i)] = begin.Add(time.Duration(i) * punctualWithin / punctualEnds).Truncate(time.Second)
	}
	return r.add(ctx, ends)
}

// create makes objects in a new namespace.
func (r *reapCases) create(ctx context.Context, ends map[string]time.Time) error {
	r.namespace = fmt.Sprintf("reap-%d", r.counter.Add(1))
	if _, err := r.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	return r.add(ctx, ends)
}

func (r *reapCases) add(ctx context.Context, ends map[string]time.Time) error {
	r.ends = ends
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(reapAtOnce)
	for name, end := range ends {
		g.Go(func() error {
			_, err := r.client.CoreV1().ConfigMaps(r.namespace).Create(ctx, &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{keys.Intent: string(reaper.Transient)},
					Annotations: map[string]string{keys.ExpiresAt: reaper.FormatTime(end)}},
				Data: map[string]string{"settings": fmt.Sprintf("%01000d", 0)},
			}, metav1.CreateOptions{})
			return err
		})
	}
	return g.Wait()
}
