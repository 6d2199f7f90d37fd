package argocd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/lifecycle"
)

var _ lifecycle.Comparer = (*Deliverer)(nil)

// Compare asks the cluster, by dry runs, what a sync of the commit would make of
// each object, as Argo CD would bring it: by kubectl's client-side apply, which
// takes away what the manifest said the last time and says no more; by server-side
// apply or by replacing it, where the Application's or the object's sync options
// say so; and by making it anew, where that is what Argo CD does. Argo CD's own
// marks are left out. Hooks are compared with what they were made of the last time.
// Of an Application of the layout what is set in it is compared. Options that have
// Argo CD leave fields alone (RespectIgnoreDifferences) are not heeded.
//
// Config.Objects has to be a Foreseer. It takes the rights to create and patch what
// is compared: a dry run is authorised like the write. Where they are missing, the
// error of the object matches lifecycle.ErrForbidden.
func (d *Deliverer) Compare(ctx context.Context, r lifecycle.DeliverRequest) ([]lifecycle.Comparison, error) {
	r.DryRun, r.Guard, r.Progress = true, nil, nil
	v := &delivery{Deliverer: d, r: r, projects: map[string]*argo.Project{}}
	parts, err := v.readParts(ctx)
	if err != nil {
		return nil, err
	}
	seen, err := v.foresee(ctx, parts)
	if err != nil {
		return nil, err
	}
	var list []lifecycle.Comparison
	var errs []error
	for _, s := range seen {
		if errs = append(errs, s.err); s.err == nil && s.Type != "" {
			list = append(list, s.Comparison)
		}
	}
	return list, errors.Join(errs...)
}

// tryOut is the dry run of a delivery: what would become of each object, what the
// cluster would refuse, and what could not be tried.
func (v *delivery) tryOut(ctx context.Context, parts []*part) (result lifecycle.DeliverResult, err error) {
	seen, err := v.foresee(ctx, parts)
	if err != nil {
		return result, err
	}
	var errs []error
	var untried []string
	for _, s := range seen {
		switch {
		case s.err == nil && s.Type != "":
			result.Changes = append(result.Changes, s.Change)
		case errors.Is(s.err, lifecycle.ErrForbidden):
			untried = append(untried, lifecycle.ObjectName(s.Object))
		default:
			errs = append(errs, s.err)
		}
	}
	if len(untried) > 0 {
		result.Untried = []lifecycle.Finding{{Subject: "dry run", Message: fmt.Sprintf("not tried on the server, since you may not write them: %s. "+
			"What it would refuse of them shows at the delivery", listed(untried))}}
	}
	return result, errors.Join(errs...)
}

// listed names the first of a list: "Deployment shop/api, Service shop/api and 3
// more".
func listed(names []string) string {
	const shown = 5
	text := strings.Join(names[:min(len(names), shown)], ", ")
	if n := len(names) - shown; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}
