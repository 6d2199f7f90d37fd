package controller_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
	"github.com/pharos-dev/pharos/lifecycle/controller"
)

// counted is a task that says when it begins and ends, and ends when it may.
type counted struct {
	running       atomic.Int32
	began, ending chan struct{}
	mayEnd        chan struct{}
}

func newCounted() *counted {
	return &counted{began: make(chan struct{}, 10), ending: make(chan struct{}, 10), mayEnd: make(chan struct{})}
}

func (c *counted) task(name string) controller.Task {
	return controller.Task{Name: name, Run: func(ctx context.Context) error {
		c.running.Add(1)
		defer c.running.Add(-1)
		c.began <- struct{}{}
		<-ctx.Done()
		c.ending <- struct{}{}
		<-c.mayEnd
		return context.Cause(ctx)
	}}
}

// await waits for something to be said.
func await(t *testing.T, said <-chan struct{}) {
	t.Helper()
	select {
	case <-said:
	case <-t.Context().Done():
		t.Fatal("it never happened")
	}
}

// Tasks run where the leader is, and the next leader waits until they have ended.
func TestTasksOfTheLeader(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	one, other, next := newCounted(), newCounted(), newCounted()
	close(next.mayEnd)
	close(other.mayEnd)
	first := run(t, c.Config(), ns, "first", one.task("sweep"), other.task("reap"))
	await(t, one.began)
	await(t, other.began)
	first.await("/metrics", "pharos_task_running{task=\"sweep\"} 1\n")
	second := run(t, c.Config(), ns, "second", next.task("sweep"))
	second.await("/readyz", "ok")
	if next.running.Load() != 0 {
		t.Error("a replica that stands by runs the task")
	}

	stopped := make(chan struct{})
	go func() { first.stop(); close(stopped) }()
	await(t, one.ending)
	if _, metrics := second.get("/metrics"); !strings.Contains(metrics, stands) {
		t.Error("another one leads while a task of the first one ends")
	}
	close(one.mayEnd)
	await(t, stopped)
	if one.running.Load()+other.running.Load() != 0 {
		t.Error("a task runs on behind its controller's end")
	}
	await(t, next.began)
}

// A leader that has lost its lease ends its tasks, and begins them anew when it
// leads again.
func TestTasksEndWithTheLeadership(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	one := newCounted()
	close(one.mayEnd)
	r := run(t, c.Config(), ns, "first", one.task("sweep"))
	await(t, one.began)
	steal := []byte(`{"spec":{"holderIdentity":"thief","leaseDurationSeconds":3}}`)
	if _, err := devtest.Client(t, c.Config()).CoordinationV1().Leases(ns).Patch(t.Context(), "pharos-shop.controller", types.MergePatchType, steal, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, one.ending)
	await(t, one.began)
	r.await("/metrics", "pharos_controller_elections_total 2\n")
}

// A task that ends is run again, and its end counted.
func TestTaskThatEnds(t *testing.T) {
	t.Parallel()
	c := devtest.Cluster(t)
	ns := devtest.Namespace(t, c)
	runs := 0
	r := run(t, c.Config(), ns, "first", controller.Task{Name: "flaky", Run: func(ctx context.Context) error {
		if runs++; runs <= 2 {
			return errors.New("not yet")
		}
		<-ctx.Done()
		return nil
	}})
	r.await("/metrics", "pharos_task_failures_total{task=\"flaky\"} 2\n")
	r.await("/metrics", "pharos_task_running{task=\"flaky\"} 1\n")
}

func TestConfigOfTasks(t *testing.T) {
	t.Parallel()
	work := func(context.Context) error { return nil }
	_, err := controller.New(controller.Config{Tasks: []controller.Task{{Name: "sweep", Run: work}, {Name: "sweep", Run: work}, {Name: "reap"}, {Run: work}}})
	if err == nil {
		t.Fatal("it is accepted")
	}
	for _, want := range []string{"without Lease there is none", `two tasks "sweep"`, `task "reap" lacks`, `task "" lacks`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
	if _, err := controller.New(controller.Config{Lease: &lease.Manager{}, Tasks: []controller.Task{{Name: "sweep", Run: work}}}); err != nil {
		t.Error(err)
	}
}
