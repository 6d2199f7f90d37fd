package ephemeral

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// Space is a namespace that is kept until it is closed, or its process ends. Its methods
// may be called by several goroutines at once.
type Space struct {
	// Name is the namespace's name.
	Name string

	uid    types.UID
	client *client
	o      Options
	// Heartbeats go on until stop, the end of leftovers until it is done, or abandon.
	beats, sweeping sync.WaitGroup
	stop, abandon   context.CancelFunc
}

// Open creates a namespace, for what is no test: a TestMain, or a program. Its heartbeats
// go on, whatever becomes of ctx, until [Space.Close]. The errors are ErrInvalid, or the
// API server's. The configuration is copied.
func Open(ctx context.Context, config *rest.Config, o Options) (*Space, error) {
	o, err := o.complete()
	if config == nil {
		err = errors.Join(fmt.Errorf("%w: the configuration of the cluster is missing", ErrInvalid), err)
	}
	if err != nil {
		return nil, err
	}
	c, err := newClient(config)
	if err != nil {
		return nil, err
	}
	// Before the create, since the first answer sets the clock.
	due := c.leftovers(ctx, o.Log)
	ns, err := c.open(ctx, o)
	if err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	beats, stop := context.WithCancel(ctx)
	sweeping, abandon := context.WithCancel(ctx)
	s := &Space{Name: ns.Name, uid: ns.UID, client: c, o: o, stop: stop, abandon: abandon}
	s.beats.Go(func() { s.beat(beats) })
	if len(due) > 0 {
		s.sweeping.Go(func() { end(sweeping, config, due, o.Log) })
	}
	return s, nil
}

// open creates a namespace. A try whose answer was lost may have made one as well: it has
// no heartbeats, and ends by its TTL.
func (c *client) open(ctx context.Context, o Options) (*corev1.Namespace, error) {
	labels, annotations := o.marks(o.owner())
	maps.Copy(labels, o.Labels)
	maps.Copy(annotations, o.Annotations)
	var made *corev1.Namespace
	err := kubeclient.Retry(ctx, func() (err error) {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name(o.For), Labels: labels, Annotations: annotations}}
		made, err = c.create(ctx, ns)
		return err
	})
	switch {
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("create a namespace for %s: %w: grant the right to create, get, list, patch and delete namespaces", o.For, err)
	case err != nil:
		return nil, fmt.Errorf("create a namespace for %s: %w", o.For, err)
	}
	return made, nil
}

// Close ends the heartbeats, deletes the namespace with all that is in it, and waits
// until leftovers are ended, or ctx ends. It does not wait until the namespace is gone,
// unless Options.Wait says so. A namespace that is gone already, or is being deleted, is
// none of its errors. It can be called again. When it returns nothing of the Space runs
// any more.
func (s *Space) Close(ctx context.Context) error {
	s.stop()
	s.beats.Wait()
	err := s.delete(ctx)
	release := context.AfterFunc(ctx, s.abandon)
	s.sweeping.Wait()
	release()
	s.abandon()
	if err != nil {
		return fmt.Errorf("delete namespace %s: %w: it ends %s after its last heartbeat, if something sweeps", s.Name, err, s.o.TTL)
	}
	if s.o.Wait == 0 {
		return nil
	}
	return s.wait(ctx)
}

// errGone says that there is no namespace of this name and UID.
var errGone = errors.New("it is gone")

// look returns the namespace, or errGone.
func (s *Space) look(ctx context.Context) (*corev1.Namespace, error) {
	ns, err := s.client.get(ctx, s.Name)
	if kubeclient.NotFound(err) || err == nil && ns.UID != s.uid {
		return nil, errGone
	}
	return ns, err
}

// delete deletes the namespace unless it is being deleted: a second deletion is none of
// our business.
func (s *Space) delete(ctx context.Context) error {
	again := false
	return kubeclient.Retry(ctx, func() error {
		if again {
			if ns, err := s.look(ctx); errors.Is(err, errGone) || err == nil && ns.DeletionTimestamp != nil {
				return nil
			} else if err != nil {
				return err
			}
		}
		again = true
		err := s.client.delete(ctx, s.Name, s.uid)
		switch {
		case kubeclient.NotFound(err):
			return nil
		case apierrors.IsConflict(err): // another one of this name, or it is being deleted
			ns, lerr := s.look(ctx)
			if errors.Is(lerr, errGone) || lerr == nil && ns.DeletionTimestamp != nil {
				return nil
			}
			return errors.Join(err, lerr)
		}
		return err
	})
}
