package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/reaper"
)

// watcher follows the objects of one resource, and tells the store. It keeps none of
// them: client-go's reflector holds a whole list before it hands it on.
type watcher struct {
	ender     *Ender
	store     *store
	resource  Resource
	namespace string // the only one, if it is not empty
	selector  string // of labels
	// report is called with nil when the store knows all objects, and with why it may
	// not.
	report func(error)

	from    source
	version string // the state that the store knows
	paged   bool   // the server cannot stream lists
}

// The pauses after a list or a watch has failed.
const (
	rewatchFirst = 500 * time.Millisecond
	rewatchMost  = 30 * time.Second
)

// steady is how long a watch lasts that has not failed.
const steady = 10 * time.Second

// errListAnew says that the state which the store knows is no longer known to the
// server.
var errListAnew = errors.New("the API server has forgotten that state: list anew")

// run follows the resource until ctx ends.
func (w *watcher) run(ctx context.Context) {
	for pause := rewatchFirst; ; pause = min(2*pause, rewatchMost) {
		began := time.Now()
		err := w.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > steady {
			pause = rewatchFirst
		}
		switch {
		case errors.Is(err, errListAnew):
			w.version = ""
		case err != nil:
			w.report(fmt.Errorf("watch %s: %w", w.resource, err))
		}
		select {
		case <-time.After(pause + rand.N(pause/4)):
		case <-ctx.Done():
			return
		}
	}
}

// follow lists the objects, unless the store knows a state of them, and watches them
// from there. It returns when the server ends a watch early, or with an error.
func (w *watcher) follow(ctx context.Context) error {
	if w.version == "" {
		if err := w.list(ctx); err != nil {
			return err
		}
	}
	for {
		began := time.Now()
		err := w.stream(ctx, metav1.ListOptions{ResourceVersion: w.version})
		if err != nil || time.Since(began) < steady {
			return err
		}
	}
}

// list lists all objects: as the beginning of a watch where the server can do that,
// so that nobody has to hold the list.
func (w *watcher) list(ctx context.Context) error {
	w.from.list++
	if !w.paged {
		yes := true
		err := w.stream(ctx, metav1.ListOptions{SendInitialEvents: &yes, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
		switch {
		case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), errors.Is(err, errSilent):
			w.paged = true
		case err == nil && w.version == "":
			return errors.New("the API server ended the watch within its list")
		default:
			return err
		}
	}
	version := ""
	for next := ""; ; {
		page, err := w.ender.page(ctx, listing{resource: w.resource, namespace: w.in(), selector: w.selector}, next)
		switch {
		case next != "" && apierrors.IsResourceExpired(err):
			return errListAnew
		case err != nil:
			return err
		}
		for i := range page.Items {
			w.see(&page.Items[i])
		}
		if version == "" {
			version = page.ResourceVersion
		}
		if next = page.Continue; next == "" {
			w.known(version)
			return nil
		}
	}
}

// errSilent says that the server did not say that a list which it streams was
// complete.
var errSilent = errors.New("the API server did not end its list")

// longestWatch is after how many seconds the server is to end a watch, at the
// earliest; silence is how long one that streams a list may say nothing.
const (
	longestWatch = 300
	silence      = time.Minute
)

// stream takes over what one watch says until it ends; with nil if the server ended it
// and nothing was wrong.
func (w *watcher) stream(ctx context.Context, o metav1.ListOptions) error {
	seconds := longestWatch + rand.Int64N(longestWatch)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	o.LabelSelector, o.AllowWatchBookmarks, o.TimeoutSeconds = w.selector, true, &seconds
	patience := w.ender.config.RequestTimeout
	late := time.AfterFunc(patience, func() { cancel(fmt.Errorf("the API server did not answer within %s", patience)) })
	defer late.Stop()
	events, err := w.ender.in(w.resource, w.in()).Watch(ctx, o)
	if err != nil {
		return w.judge(cmp.Or(context.Cause(ctx), err))
	}
	late.Reset(time.Duration(seconds)*time.Second + patience)
	defer func() { // what client-go runs for it ends, too
		events.Stop()
		for range events.ResultChan() {
		}
	}()
	listing := o.SendInitialEvents != nil
	if !listing {
		w.report(nil)
	}
	silent := time.NewTimer(silence)
	defer silent.Stop()
	for {
		select {
		case event, ok := <-events.ResultChan():
			if !ok {
				return nil
			}
			if err := w.take(event); err != nil {
				return w.judge(err)
			}
			silent.Reset(silence)
		case <-silent.C:
			if listing && w.version == "" {
				return errSilent
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// judge says whether the error of a watch is about the state that it was to begin at.
func (w *watcher) judge(err error) error {
	switch {
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err), apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge):
		return errListAnew
	case !kubeclient.Transient(err):
		w.version = "" // it may be another resource when it answers again
	}
	return err
}

// take takes over one event.
func (w *watcher) take(event watch.Event) error {
	if event.Type == watch.Error {
		return apierrors.FromObject(event.Object)
	}
	m, ok := event.Object.(*metav1.PartialObjectMetadata)
	if !ok {
		return fmt.Errorf("the API server sent %T instead of metadata", event.Object)
	}
	switch event.Type {
	case watch.Added, watch.Modified:
		w.see(m)
	case watch.Deleted: // or it is chosen no more, which is the same here
		w.store.forget(string(m.UID))
	case watch.Bookmark:
		if m.Annotations[metav1.InitialEventsAnnotationKey] == "true" {
			w.known(m.ResourceVersion)
		}
	}
	if w.version != "" {
		w.version = m.ResourceVersion
	}
	return nil
}

// in is the namespace that is asked for.
func (w *watcher) in() string {
	if !w.resource.Namespaced {
		return ""
	}
	return w.namespace
}

func (w *watcher) see(m *metav1.PartialObjectMetadata) {
	if w.namespace != "" && !w.resource.Namespaced && m.Name != w.namespace {
		return
	}
	w.store.see(w.from, reaper.ObjectOf(w.resource.Group, w.resource.Kind, m), w.ender.clock.Now())
}

// known takes over that the list is complete, of this state.
func (w *watcher) known(version string) {
	w.version = version
	w.store.listed(w.from)
	w.report(nil)
}
