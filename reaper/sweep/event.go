package sweep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/reaper"
)

// The reasons of Events.
const (
	reasonEnded    = "Ended"
	reasonEndsSoon = "EndsSoon"
)

// recordEnd records that an object was deleted, if it was and Events are wanted. That it cannot is no reason to fail:
// in a namespace that is going there are no Events.
func (e *Ender) recordEnd(ctx context.Context, r Resource, res Result) {
	if res.Outcome != Deleted || !e.config.Events {
		return
	}
	note := fmt.Sprintf("Pharos deleted it: it was transient, and ended at %s.", reaper.FormatTime(res.Decision.Deadline))
	if owner := res.Object.Annotations[keys.Owner]; owner != "" {
		note += " Its owner: " + owner
	}
	if err := e.record(ctx, r, res.Object, corev1.EventTypeNormal, reasonEnded, note, ""); err != nil {
		e.config.Log.WarnContext(ctx, "the Event about a deletion is missing", "object", res.Object.String(), "err", err)
	}
}

// record records an Event on an object. The same one is recorded once, as long as the
// cluster keeps it: its name says what it is about.
func (e *Ender) record(ctx context.Context, r Resource, o reaper.Object, kind, reason, note, once string) error {
	ctx, cancel := context.WithTimeout(ctx, e.config.RequestTimeout)
	defer cancel()
	namespace := o.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault // where the API has the Events of what is in no namespace
	}
	sum := sha256.Sum256([]byte(o.UID + "\x00" + reason + "\x00" + once))
	event := &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Name: "pharos-" + strings.ToLower(reason) + "-" + hex.EncodeToString(sum[:10]), Namespace: namespace},
		EventTime:           metav1.NewMicroTime(e.clock.Now()),
		ReportingController: keys.Controller,
		ReportingInstance:   cut(e.config.Instance, 128),
		Action:              "Sweep",
		Reason:              reason,
		Regarding: corev1.ObjectReference{
			APIVersion: r.GVR().GroupVersion().String(), Kind: r.Kind,
			Namespace: o.Namespace, Name: o.Name, UID: types.UID(o.UID), ResourceVersion: o.ResourceVersion,
		},
		Note: cut(note, 1024),
		Type: kind,
	}
	err := e.plain.Post().Namespace(namespace).Resource("events").Param("fieldManager", keys.Manager).Body(event).MaxRetries(0).Do(ctx).Error()
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create an Event in namespace %s: %w", namespace, err)
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
