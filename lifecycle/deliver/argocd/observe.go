package argocd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// looked are the Applications that are looked at.
func (d *Deliverer) looked(r lifecycle.ObserveRequest) []*part {
	parts := d.parts(r.Objects)
	if len(r.Covers) == 0 {
		return parts
	}
	return slices.DeleteFunc(parts, func(p *part) bool { return !slices.Contains(r.Covers, p.object.Name) })
}

// Observe looks once, by one request for each Application. Where one is synced
// and not healthy, its objects are read too, for the reasons. One that is not live
// and healthy at the commit is not ready, and so is one whose status is older
// than Config.StaleAfter: that says nothing of now. Where the request wants it, the
// controller is asked to look first, and is waited for. What differs from the commit,
// and an Application whose source is not what was written, are drifted.
//
// The error matches lifecycle.ErrUnreachable if the cluster does not answer or
// does not let us.
func (d *Deliverer) Observe(ctx context.Context, r lifecycle.ObserveRequest) (lifecycle.Observation, error) {
	parts := d.looked(r)
	if err := d.read(ctx, parts); err != nil {
		return lifecycle.Observation{}, err
	}
	if r.Anew != nil {
		if err := d.lookAnew(ctx, parts, r.Anew); err != nil {
			return lifecycle.Observation{}, err
		}
	}
	o := lifecycle.Observation{Seen: seen(parts), Applications: records(parts), Completed: r.Completed}
	for _, p := range parts {
		v := argo.Judge(p.app, d.want(p, r))
		var why []lifecycle.ObjectStatus
		if v.Synced && v.State != argo.Live {
			v, why = d.lookCloser(ctx, p, r, v)
		}
		o.Orphans = append(o.Orphans, orphans(v, r)...)
		status := lifecycle.ObjectStatus{Object: p.object, Reason: v.Reason, Failed: v.State == argo.Failed}
		if elsewhere := d.elsewhere(p, r); v.State != argo.Foreign && elsewhere != "" {
			v.State, status.Reason = argo.Foreign, elsewhere
		}
		switch v.State {
		case argo.Foreign:
			o.Drifted = append(o.Drifted, status)
			continue
		case argo.Live:
			// By the server's clock, as the status is of the cluster.
			switch age := d.client.Now().Sub(p.app.Status.ReconciledAt.Time).Round(time.Second); {
			case age > d.staleAfter:
				status.Reason = fmt.Sprintf("its status is %s old: the controller has not looked since", age)
				o.Unready = append(o.Unready, status)
			case age < -d.staleAfter:
				status.Reason = fmt.Sprintf("its status is of a time that comes in %s: when the controller looked is not known", -age)
				o.Unready = append(o.Unready, status)
			}
			continue
		}
		o.Unready = append(append(o.Unready, status), why...)
		for _, res := range v.Drifted {
			o.Drifted = append(o.Drifted, lifecycle.ObjectStatus{Object: objectOf(res, r), Reason: "it differs from the commit, says " + p.String()})
		}
	}
	slices.SortFunc(o.Orphans, receipt.CompareObjects)
	return o, nil
}

// lookCloser judges an Application that is not healthy once more, with what its
// objects say, as Wait does: what is declared no more counts in its health. The
// reasons are those of its objects.
func (d *Deliverer) lookCloser(ctx context.Context, p *part, r lifecycle.ObserveRequest, v argo.Verdict) (argo.Verdict, []lifecycle.ObjectStatus) {
	w := &watching{Deliverer: d, r: r}
	q := &watched{part: p, want: d.want(p, r), verdict: v}
	o, err := d.objects.Observe(ctx, w.request(q, nil))
	if err != nil {
		return v, nil
	}
	q.why, q.answered = o.Unready, true
	q.want.Healthy = q.declaredHealthy()
	return argo.Judge(p.app, q.want), q.why
}

// elsewhere says of an Application of the layout that it is not at the commit,
// where nothing is known of the source that was written.
func (d *Deliverer) elsewhere(p *part, r lifecycle.ObserveRequest) string {
	if !p.direct || p.app == nil || r.Commit == "" {
		return ""
	}
	at := func(s argo.Source) bool { return s.Text("targetRevision") == string(r.Commit) }
	if sources := p.app.Sources(); !slices.ContainsFunc(sources, at) {
		return fmt.Sprintf("its targetRevision is %q and not the commit", sources[0].Text("targetRevision"))
	}
	return ""
}

// seen is what is remembered of the Applications: never nil, since nil is not
// known.
func seen(parts []*part) []receipt.Seen {
	list := []receipt.Seen{}
	for _, p := range parts {
		if p.app != nil {
			list = append(list, seenOf(p.object, p.app))
		}
	}
	return list
}

// orphans are an Application's resources that the commit does not declare any
// more. Hooks are told by the receipts: those that neither names are made anew,
// under a name of their own, with every sync.
func orphans(v argo.Verdict, r lifecycle.ObserveRequest) []receipt.Object {
	var list []receipt.Object
	among := func(objects []receipt.Object, o receipt.Object) bool {
		return slices.ContainsFunc(objects, func(known receipt.Object) bool { return receipt.CompareObjects(known, o) == 0 })
	}
	for _, res := range v.Orphans {
		// The Application may have been compared at another commit.
		if o := objectOf(res, r); !among(r.Objects, o) {
			list = append(list, o)
		}
	}
	for _, res := range v.Hooks {
		if o := objectOf(res, r); !among(r.Objects, o) && among(r.Earlier, o) {
			list = append(list, o)
		}
	}
	return list
}

// objectOf names a resource of an Application as receipts do. The plural of a
// kind that no receipt has is a guess, for people.
func objectOf(res argo.Resource, r lifecycle.ObserveRequest) receipt.Object {
	o := receipt.Object{Group: res.Group, Version: res.Version, Kind: res.Kind, Namespace: res.Namespace, Name: res.Name}
	for _, list := range [][]receipt.Object{r.Objects, r.Earlier} {
		for _, known := range list {
			if receipt.CompareObjects(known, o) == 0 {
				return known
			}
			if known.Group == o.Group && known.Kind == o.Kind {
				o.Resource, o.Version = known.Resource, known.Version
			}
		}
	}
	if o.Resource == "" {
		o.Resource = strings.ToLower(o.Kind) + "s"
	}
	return o
}

// request asks for the reasons of an Application's objects: those of a kind that
// can be unhealthy, or only some.
func (w *watching) request(p *watched, only []receipt.Object) lifecycle.ObserveRequest {
	r := lifecycle.ObserveRequest{Target: w.r.Target}
	if p.app == nil {
		return r
	}
	for _, o := range w.r.Objects {
		if isApplication(o.Group, o.Kind) || !runs(o) {
			continue
		}
		if only != nil && !slices.ContainsFunc(only, func(x receipt.Object) bool { return receipt.CompareObjects(x, o) == 0 }) {
			continue
		}
		if only != nil || slices.ContainsFunc(p.app.Status.Resources, func(s argo.ResourceStatus) bool {
			return !s.Hook && receipt.CompareObjects(receipt.Object{Group: s.Group, Kind: s.Kind, Namespace: s.Namespace, Name: s.Name}, o) == 0
		}) {
			r.Objects = append(r.Objects, o)
		}
	}
	return r
}

// runs says whether objects of a kind are ever unhealthy by kinds that every
// cluster has.
func runs(o receipt.Object) bool {
	return o.Group == "apps" || o.Group == "batch" || o.Group == "" && (o.Kind == "Pod" || o.Kind == "PersistentVolumeClaim" || o.Kind == "ReplicationController")
}
