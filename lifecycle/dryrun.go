package lifecycle

import "context"

// dryRun renders the commit and asks the server what each object would become.
// Images that have to be built stand in it with a digest of zeros.
func (o *operation) dryRun(ctx context.Context, r ReconcileRequest, images []*image, res *ReconcileResult) error {
	rendering, err := o.render(ctx, r.Commit.Tree, images)
	if err != nil {
		return err
	}
	res.Findings = rendering.Findings
	resolved, err := o.Deliverer.Resolve(ctx, rendering.Objects)
	if err != nil {
		return err
	}
	// What lies in a namespace, or is of a kind, that is not there yet cannot be
	// asked about: it would be created.
	var first, rest DeliverRequest
	for i, obj := range rendering.Objects {
		obj.Namespace = resolved[i].Namespace
		to := &rest
		if defines(obj) {
			to = &first
		}
		to.Objects, to.Resolved = append(to.Objects, obj), append(to.Resolved, resolved[i])
	}
	created, err := o.ask(ctx, r, first, res)
	if err != nil {
		return err
	}
	var known DeliverRequest
	for i, obj := range rest.Objects {
		if created["Namespace/"+obj.Namespace] || created["CustomResourceDefinition/"+rest.Resolved[i].Resource+"."+obj.Group] {
			res.Changes = append(res.Changes, Change{Type: ChangeCreated, Object: rest.Resolved[i]})
			continue
		}
		known.Objects, known.Resolved = append(known.Objects, obj), append(known.Resolved, rest.Resolved[i])
	}
	_, err = o.ask(ctx, r, known, res)
	return err
}

func defines(o Object) bool {
	return o.Group == "" && o.Kind == "Namespace" || o.Group == "apiextensions.k8s.io" && o.Kind == "CustomResourceDefinition"
}

// ask has the server try the objects and returns those that it would create, as
// kind/name.
func (o *operation) ask(ctx context.Context, r ReconcileRequest, d DeliverRequest, res *ReconcileResult) (map[string]bool, error) {
	if len(d.Objects) == 0 {
		return nil, nil
	}
	d.Target, d.Force, d.DryRun = o.Target, r.Force, true
	done, err := o.Deliverer.Deliver(ctx, d)
	res.Changes = append(res.Changes, done.Changes...)
	created := map[string]bool{}
	for _, c := range done.Changes {
		if c.Type == ChangeCreated {
			created[c.Object.Kind+"/"+c.Object.Name] = true
		}
	}
	return created, err
}
