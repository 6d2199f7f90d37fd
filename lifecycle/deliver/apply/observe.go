package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/objectjson"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// Observe looks once: one list for each resource of the objects. Where a
// workload is not healthy, its pods are read too, for the reason.
//
// Orphans leave out what has an owner, since it goes with that, what is being
// deleted already, and Jobs that ran once and completed.
//
// The error matches lifecycle.ErrUnreachable if the cluster does not answer or
// does not let us list.
func (d *Deliverer) Observe(ctx context.Context, r lifecycle.ObserveRequest) (lifecycle.Observation, error) {
	v, err := d.look(ctx, r)
	if err != nil {
		return lifecycle.Observation{}, err
	}
	o, err := v.observation()
	if err != nil {
		return lifecycle.Observation{}, err
	}
	d.addDetails(ctx, v, o.Unready)
	return o, nil
}

// view is what a target held, and is kept up to date while waiting.
type view struct {
	manager string
	r       lifecycle.ObserveRequest
	wanted  map[key]bool
	lists   []listing
	held    map[key]object
	// ran are the Jobs that run once and are known to have completed: from the
	// request, from what was seen, or from what the target remembers.
	ran map[key]bool
}

func (d *Deliverer) look(ctx context.Context, r lifecycle.ObserveRequest) (*view, error) {
	if r.Target == "" {
		return nil, errors.New("apply: ObserveRequest.Target is missing")
	}
	searched := slices.Concat(r.Objects, r.Earlier)
	lists, err := d.listAll(ctx, searched, r.Target, acceptJSON)
	if err != nil {
		return nil, err
	}
	v := &view{manager: d.manager, r: r, wanted: map[key]bool{}, lists: lists, held: map[key]object{}, ran: map[key]bool{}}
	for _, o := range r.Objects {
		v.wanted[keyOf(o)] = true
	}
	for _, o := range r.Completed {
		v.ran[keyOf(o)] = isOnce(o)
	}
	for _, l := range lists {
		v.replace(l)
	}
	d.recall(ctx, v)
	return v, nil
}

// recall asks for Jobs that run once and are missing whether they ran to the end.
func (d *Deliverer) recall(ctx context.Context, v *view) {
	for _, o := range v.r.Objects {
		if _, there := v.held[keyOf(o)]; !there && isOnce(o) && !v.ran[keyOf(o)] {
			v.ran[keyOf(o)] = d.ranToTheEnd(ctx, o)
		}
	}
}

// replace puts a new list in the place of what was known of its collection.
func (v *view) replace(l listing) {
	for k := range v.held {
		if k.group == l.of.group && k.kind == l.of.kind && (l.of.namespace == "" || l.of.namespace == k.namespace) {
			delete(v.held, k)
		}
	}
	for _, item := range l.items {
		v.hold(keyIn(l.of, item), item)
	}
}

// hold keeps an object as it is, or as it was in the end.
func (v *view) hold(k key, item object) {
	v.held[k] = item
	if k.group == "batch" && k.kind == "Job" && onceName.MatchString(k.name) && completed(item) {
		v.ran[k] = true
	}
}

// status judges one of the objects that are wanted.
func (v *view) status(o receipt.Object) (lifecycle.ObjectStatus, bool) {
	held, ok := v.held[keyOf(o)]
	if v.ran[keyOf(o)] {
		return lifecycle.ObjectStatus{}, true
	}
	if !ok {
		return lifecycle.ObjectStatus{Object: o, Reason: "it does not exist, or has lost its label " + keys.Target}, false
	}
	j := judge(held, v.manager)
	if j.failed && isOnce(o) {
		j.reason += fmt.Sprintf("; it runs once: change it, or to run the same again delete it by hand: kubectl delete jobs.batch %s --namespace %s", o.Name, o.Namespace)
	}
	return lifecycle.ObjectStatus{Object: o, Reason: j.reason, Failed: j.failed}, j.ready
}

func (v *view) unready() []lifecycle.ObjectStatus {
	var list []lifecycle.ObjectStatus
	for _, o := range v.r.Objects {
		if s, ready := v.status(o); !ready {
			list = append(list, s)
		}
	}
	return list
}

// completed are the Jobs of the request that run once and did.
func (v *view) completed() []receipt.Object {
	var list []receipt.Object
	for _, o := range v.r.Objects {
		if v.ran[keyOf(o)] {
			list = append(list, o)
		}
	}
	return list
}

func (v *view) observation() (lifecycle.Observation, error) {
	o := lifecycle.Observation{Unready: v.unready(), Orphans: v.orphans(), Completed: v.completed()}
	before := map[key]receipt.Seen{}
	for _, s := range v.r.Seen {
		before[key{s.Group, s.Kind, s.Namespace, s.Name}] = s
	}
	for _, obj := range v.r.Objects {
		held, ok := v.held[keyOf(obj)]
		if !ok {
			continue
		}
		seen, err := seenOf(obj, held, v.manager)
		if err != nil {
			return o, err
		}
		o.Seen = append(o.Seen, seen)
		b, known := before[keyOf(obj)]
		switch {
		case !known || b == seen:
		case b.UID != seen.UID:
			o.Drifted = append(o.Drifted, lifecycle.ObjectStatus{Object: obj, Reason: "it was deleted and created anew"})
		default:
			if known, err := v.isKnown(obj, held, b); err != nil {
				return o, err
			} else if known {
				continue
			}
			o.Drifted = append(o.Drifted, lifecycle.ObjectStatus{Object: obj, Reason: driftReason(held, v.manager)})
		}
	}
	return o, nil
}

// isKnown says whether an object is as it was seen, but for what is known to be changed.
func (v *view) isKnown(o receipt.Object, held object, before receipt.Seen) (bool, error) {
	if v.r.Known == nil {
		return false, nil
	}
	live, err := objectjson.Encode(held)
	if err == nil {
		live, err = v.r.Known(o, live)
	}
	if err == nil {
		held, err = objectjson.Decode(live)
	}
	if err != nil {
		return false, &lifecycle.Error{Op: "tell what is known to be changed of", On: lifecycle.ObjectName(o), Err: err}
	}
	seen, err := seenOf(o, held, v.manager)
	return seen == before, err
}

// seenOf is what a receipt's outcome keeps of an object that the target holds.
func seenOf(o receipt.Object, held object, manager string) (receipt.Seen, error) {
	hash, err := ownedHash(held, manager)
	if err != nil {
		return receipt.Seen{}, &lifecycle.Error{Op: "read the managed fields of", On: lifecycle.ObjectName(o), Err: err}
	}
	return receipt.Seen{
		Group: o.Group, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name,
		UID: string((&unstructured.Unstructured{Object: held}).GetUID()), Owned: hash,
	}, nil
}

func (v *view) orphans() []receipt.Object {
	var list []receipt.Object
	for _, l := range v.lists {
		for k, held := range v.held {
			if k.group != l.of.group || k.kind != l.of.kind || v.wanted[k] || l.of.namespace != "" && l.of.namespace != k.namespace {
				continue
			}
			u := unstructured.Unstructured{Object: held}
			// A Job that ran once and completed is history, until somebody or its
			// TTL removes it.
			if len(u.GetOwnerReferences()) > 0 || u.GetDeletionTimestamp() != nil || v.ran[k] {
				continue
			}
			orphan := receipt.Object{
				Group: k.group, Version: l.of.version, Kind: k.kind, Resource: l.of.resource,
				Namespace: k.namespace, Name: k.name,
			}
			// A resource that is searched in two versions shows each orphan twice.
			if !slices.ContainsFunc(list, func(o receipt.Object) bool { return keyOf(o) == k }) {
				list = append(list, orphan)
			}
		}
	}
	slices.SortFunc(list, receipt.CompareObjects)
	return list
}
