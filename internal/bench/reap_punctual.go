package main

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
	"github.com/pharos-dev/pharos/reaper/sweep"
)

const (
	punctualObjects = 2000
	punctualEnds    = 200
	punctualWithin  = 20 * time.Second
	// listEvery is a tenth of what kube-janitor does by default, since a round lasts no
	// longer: its lateness is ten times as large, and what it reads in a time a tenth.
	listEvery = 3 * time.Second
)

// punctual measures how late objects end, and what is read for it.
type punctual struct {
	name string
	read atomic.Int64

	mu   sync.Mutex
	late []time.Duration
	over time.Duration // all rounds
}

// connection is one whose bytes are counted, as they are on the wire.
func (p *punctual) connection(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return counted{c, &p.read}, err
	}
	return config
}

type counted struct {
	net.Conn
	read *atomic.Int64
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.read.Add(int64(n))
	return n, err
}

// ended takes over that an object was deleted now.
func (p *punctual) ended(end time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late = append(p.late, time.Since(end))
}

func (p *punctual) String() string {
	slices.Sort(p.late)
	n := len(p.late)
	return fmt.Sprintf("%s: late p50 %s, p99 %s, %.1f MB read in %s", p.name, round(p.late[n/2]), round(p.late[n*99/100]), float64(p.read.Load())/1e6, round(p.over))
}

// sweep ends the objects of a round by a sweep.
func (p *punctual) sweep(ctx context.Context, r *reapCases) error {
	e, err := sweep.New(sweep.Config{REST: p.connection(r.config)})
	if err != nil {
		return err
	}
	deleted := make(chan string, punctualEnds)
	s, err := sweep.NewSweeper(e, sweep.SweeperConfig{Resources: []string{"configmaps"}, Namespace: r.namespace, Observed: func(i sweep.Item, _ time.Duration) {
		if i.Outcome == sweep.Deleted {
			p.ended(r.ends[i.Object.Name])
			deleted <- i.Object.Name
		}
	}})
	if err != nil {
		return err
	}
	begin := time.Now()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	for range r.ends {
		select {
		case <-deleted:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	stop()
	p.over += time.Since(begin)
	return <-done
}

// list ends them as kube-janitor does: it lists all objects as a whole now and then, and
// deletes what is past its end, one after the other. It lists one resource, where
// kube-janitor lists all of them.
func (p *punctual) list(ctx context.Context, r *reapCases) error {
	client, err := dynamic.NewForConfig(p.connection(r.config))
	if err != nil {
		return err
	}
	objects := client.Resource(configMaps).Namespace(r.namespace)
	begin := time.Now()
	for left := len(r.ends); ; {
		list, err := objects.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, o := range list.Items {
			if end, err := reaper.ParseTime(o.GetAnnotations()[keys.ExpiresAt]); err != nil || end.After(time.Now()) {
				continue
			}
			if err := objects.Delete(ctx, o.GetName(), metav1.DeleteOptions{}); err != nil {
				return err
			}
			p.ended(r.ends[o.GetName()])
			left--
		}
		if left == 0 {
			break
		}
		select {
		case <-time.After(listEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	p.over += time.Since(begin)
	return nil
}
