package controller

import (
	"context"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
)

// Event is something that a watchdog found, for who looks at the target's Lease
// with kubectl.
type Event struct {
	// Namespace is that of the Lease, Target the target's name.
	Namespace, Target string
	// Reason is one word.
	Reason string
	// Note is for people.
	Note string
	// Warning says that somebody has to look at it.
	Warning bool
}

// Recorder records Events. It is used by several goroutines at once.
type Recorder interface {
	Record(ctx context.Context, e Event) error
}

// LeaseEvents records Events of events.k8s.io/v1 on the Leases of targets. It is
// safe for concurrent use.
type LeaseEvents struct {
	leases, events rest.Interface
	instance       string
	now            func() time.Time
}

var _ Recorder = (*LeaseEvents)(nil)

// NewLeaseEvents returns a Recorder. The configuration is copied; instance names
// the replica for people. It makes no call.
func NewLeaseEvents(config *rest.Config, instance string, now func() time.Time) (*LeaseEvents, error) {
	leases, err := kubeclient.New(config, coordinationv1.SchemeGroupVersion, coordinationv1.AddToScheme)
	if err != nil {
		return nil, fmt.Errorf("record events: %w", err)
	}
	events, err := kubeclient.New(config, eventsv1.SchemeGroupVersion, eventsv1.AddToScheme)
	if err != nil {
		return nil, fmt.Errorf("record events: %w", err)
	}
	return &LeaseEvents{leases: leases, events: events, instance: instance, now: now}, nil
}

// Record creates an Event, which the cluster keeps for an hour or so. Two API
// calls: kubectl describe shows the Events of an object's UID.
func (r *LeaseEvents) Record(ctx context.Context, e Event) error {
	name := keys.Manager + "-" + e.Target
	var on metav1.PartialObjectMetadata
	err := r.leases.Get().Namespace(e.Namespace).Resource("leases").Name(name).MaxRetries(0).
		SetHeader("Accept", kubeclient.MetadataOnly).Do(ctx).Into(&on)
	if err != nil {
		return fmt.Errorf("read Lease %s/%s: %w", e.Namespace, name, err)
	}
	kind := corev1.EventTypeNormal
	if e.Warning {
		kind = corev1.EventTypeWarning
	}
	event := &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{GenerateName: name + "-", Namespace: e.Namespace},
		EventTime:           metav1.NewMicroTime(r.now()),
		ReportingController: keys.Controller,
		ReportingInstance:   cut(r.instance, 128),
		Action:              "Sweep",
		Reason:              e.Reason,
		Regarding: corev1.ObjectReference{APIVersion: coordinationv1.SchemeGroupVersion.String(), Kind: "Lease",
			Namespace: e.Namespace, Name: name, UID: on.UID},
		Note: cut(e.Note, 1024),
		Type: kind,
	}
	// It is not repeated: a second one would say that it happened twice.
	err = r.events.Post().Namespace(e.Namespace).Resource("events").Param("fieldManager", keys.Manager).Body(event).MaxRetries(0).Do(ctx).Error()
	if err != nil {
		return fmt.Errorf("create an Event in namespace %s: %w", e.Namespace, err)
	}
	return nil
}

// cut shortens a text to what a field takes, in bytes.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-len("…")], "") + "…"
}
