package inventory

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/reaper"
)

// durable takes in an object that nobody declares and that does not end.
func (c *collection) durable(l *look, r kubeclient.Resource, s seen, d reaper.Decision) {
	retained := d.Reason == reaper.IsRetained
	if !retained && !l.inScope(r, s) {
		return
	}
	a := &artefact{Durable: Durable{Object: refOf(s.Object), Resource: r.String(), Owner: s.Annotations[keys.Owner],
		Created: s.Created.UTC(), Deleted: timeOrNil(s.Deleted), Retained: retained}, uid: s.UID, claim: s.claim != nil}
	switch {
	case s.claim != nil:
		size := claimSize(s.claim)
		a.Size, a.Phase = &size, string(s.claim.Status.Phase)
	case s.volume != nil:
		size := s.volume.Spec.Capacity[corev1.ResourceStorage]
		a.Size, a.Phase = &size, string(s.volume.Status.Phase)
	}
	if l.partition.ending[s.Namespace] {
		a.Keeps = reaper.Outlives(s.Object)
	}
	c.durables = append(c.durables, a)
}

// inScope says whether an object that has no namespace is of the target. A volume
// that is bound is counted with its claim.
func (l *look) inScope(r kubeclient.Resource, s seen) bool {
	if s.volume != nil {
		claim := s.volume.Spec.ClaimRef
		return s.volume.Status.Phase != corev1.VolumeBound &&
			(l.request.AllNamespaces || claim != nil && slices.Contains(l.report.Namespaces, claim.Namespace))
	}
	return r.Namespaced || l.request.AllNamespaces
}

// claimSize is the storage that a claim has, or else asks for.
func claimSize(c *corev1.PersistentVolumeClaim) resource.Quantity {
	if has, ok := c.Status.Capacity[corev1.ResourceStorage]; ok {
		return has
	}
	return c.Spec.Resources.Requests[corev1.ResourceStorage]
}

// set is a StatefulSet, whose claims are its own although they do not say so.
type set struct {
	ref    Ref
	owner  string
	claims []string // the beginnings of their names
}

func setOf(s seen) set {
	of := set{ref: refOf(s.Object), owner: s.Annotations[keys.Owner]}
	for _, t := range s.set.Spec.VolumeClaimTemplates {
		of.claims = append(of.claims, t.Name+"-"+s.Name+"-")
	}
	return of
}

// made says whether the set made the claim: its name is that of a template, of the
// set, and a number.
// Source: https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#volume-claim-templates
func (s set) made(claim Ref) bool {
	return s.ref.Namespace == claim.Namespace && slices.ContainsFunc(s.claims, func(begin string) bool {
		number, ok := strings.CutPrefix(claim.Name, begin)
		n, err := strconv.Atoi(number)
		return ok && err == nil && strconv.Itoa(n) == number && n >= 0
	})
}

// concludeDurable says whose the durable objects are.
func (l *look) concludeDurable() {
	for _, a := range l.durables {
		if uid, ok := strings.CutPrefix(a.Object.Name, "snapcontent-"); ok && a.Object.Kind == "VolumeSnapshotContent" && l.snapshots[uid] {
			continue // it is counted with its snapshot
		}
		if size := l.owned[a.uid]; size != nil && a.Size == nil {
			a.Size = size
		}
		if i := slices.IndexFunc(l.sets, func(s set) bool { return a.claim && s.made(a.Object) }); i >= 0 {
			a.Of = &l.sets[i].ref
			if a.Owner == "" {
				a.Owner = l.sets[i].owner
			}
		}
		l.report.Durable = append(l.report.Durable, a.Durable)
		if a.Unowned() && a.Deleted == nil {
			l.find(NoOwner, &a.Object, a.Resource, fmt.Sprintf("nobody declares it, and it does not say whose it is: kubectl pharos inventory own %s --owner WHO", argumentOf(a.Durable)))
		}
		if a.Keeps != "" {
			l.find(Refused, &a.Object, a.Resource, fmt.Sprintf("its namespace %s is transient and does not end while it is there: %s", a.Object.Namespace, a.Keeps))
		}
	}
	slices.SortFunc(l.report.Durable, func(a, b Durable) int { return a.Object.compare(b.Object) })
}

// argumentOf names an object on the command line.
func argumentOf(d Durable) string {
	arg := strings.TrimSuffix(strings.ToLower(d.Object.Kind)+"."+d.Object.Group, ".") + "/" + d.Object.Name
	if d.Object.Namespace != "" {
		arg += " --namespace " + d.Object.Namespace
	}
	return arg
}
