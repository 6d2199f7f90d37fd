package follow

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/kubeclient"
)

const (
	// watchFor is after how long the server ends a watch.
	watchFor = 5 * time.Minute
	// patience is how long the server may take to answer.
	patience = 15 * time.Second
	// firstPause and longestPause are between tries.
	firstPause   = 200 * time.Millisecond
	longestPause = 5 * time.Second
)

// Client returns a client of one API group and version that may watch: its requests last as long as their context, and
// a watch a few minutes.
func Client(config *rest.Config, gv schema.GroupVersion, add func(*runtime.Scheme) error) (*rest.RESTClient, error) {
	config = rest.CopyConfig(config)
	config.Timeout = watchFor + time.Minute
	return kubeclient.New(config, gv, add)
}

// Object is a pointer to an object of the API.
type Object interface {
	runtime.Object
	metav1.Object
}

// Source says which objects.
type Source struct {
	// Client is one that Client returned.
	Client rest.Interface
	// Resource is the plural name; Namespace and Selector, of labels, say which ones.
	Resource, Namespace, Selector string
	// Failed is called with why the objects are not known, and with nil when they are again.
	Failed func(error)
}

// Follow calls seen with all objects, by name, at first and after each change, until ctx ends. It calls seen and Failed from
// its own goroutine only. The objects must not be changed.
func Follow[T Object](ctx context.Context, s Source, seen func([]T)) {
	f := &follower[T]{Source: s, seen: seen, failed: true}
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		began := time.Now()
		err := f.round(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			f.failed = true
			s.Failed(fmt.Errorf("watch %s in namespace %s: %w%s", s.Resource, s.Namespace, err, s.advice(err)))
		}
		if time.Since(began) > longestPause {
			pause = firstPause
		}
		select {
		case <-time.After(pause + rand.N(pause/4)):
		case <-ctx.Done():
			return
		}
	}
}

func (s Source) advice(err error) string {
	if apierrors.IsForbidden(err) {
		return fmt.Sprintf(" (grant list and watch on %s in namespace %s)", s.Resource, s.Namespace)
	}
	return ""
}

type follower[T Object] struct {
	Source
	seen func([]T)
	// objects are those of version; without one they have to be listed.
	objects map[string]T
	version string
	failed  bool
}

// round lists the objects where need be, and watches them once.
func (f *follower[T]) round(ctx context.Context) error {
	if f.version == "" {
		if err := f.list(ctx); err != nil {
			return err
		}
	}
	if f.failed {
		f.failed = false
		f.Failed(nil)
	}
	err := f.watch(ctx)
	if err != nil && !kubeclient.Transient(err) {
		f.version = ""
	}
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return nil // it is listed anew
	}
	return err
}

func (f *follower[T]) list(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	list, err := f.get().MaxRetries(0).Do(ctx).Get()
	if err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return err
	}
	f.objects = map[string]T{}
	for _, item := range items {
		o, ok := item.(T)
		if !ok {
			return fmt.Errorf("the API server sent %T", item)
		}
		f.objects[o.GetName()] = o
	}
	f.version = accessor.GetResourceVersion()
	f.tell()
	return nil
}

func (f *follower[T]) watch(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(patience, func() { cancel(errors.New("the API server does not answer")) })
	defer late.Stop()
	events, err := f.get().Param("watch", "true").Param("allowWatchBookmarks", "true").Param("resourceVersion", f.version).
		Param("timeoutSeconds", fmt.Sprint(int(watchFor/time.Second))).MaxRetries(0).Watch(ctx)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return err
	}
	late.Stop()
	defer func() { // what client-go runs for it ends, too
		events.Stop()
		for range events.ResultChan() {
		}
	}()
	for e := range events.ResultChan() {
		if e.Type == watch.Error {
			return apierrors.FromObject(e.Object)
		}
		o, ok := e.Object.(T)
		if !ok {
			return fmt.Errorf("the API server sent %T", e.Object)
		}
		f.version = o.GetResourceVersion()
		switch e.Type {
		case watch.Added, watch.Modified:
			f.objects[o.GetName()] = o
		case watch.Deleted:
			delete(f.objects, o.GetName())
		default:
			continue
		}
		f.tell()
	}
	return nil
}

func (f *follower[T]) get() *rest.Request {
	r := f.Client.Get().Resource(f.Resource).Namespace(f.Namespace)
	if f.Selector != "" {
		r = r.Param("labelSelector", f.Selector)
	}
	return r
}

func (f *follower[T]) tell() {
	all := make([]T, 0, len(f.objects))
	for _, o := range f.objects {
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b T) int { return strings.Compare(a.GetName(), b.GetName()) })
	f.seen(all)
}
