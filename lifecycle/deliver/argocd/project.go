package argocd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// forbidden is what one project does not permit of a commit.
type forbidden struct {
	project *argo.Project
	// bans are those found, each once, with what they are about.
	bans []banned
}

// banned is one ban.
type banned struct {
	argo.Ban
	// what is banned, for people: "the kind Role of rbac.authorization.k8s.io".
	what string
	// entry is what the field of the ban would have to have.
	entry any
	// of are the objects that it keeps from being synced.
	of []string
}

// permitted wants the projects to permit all that the commit delivers: Argo CD
// would find what they do not only at the sync. What it has shown that it permits
// is not judged again, since a project is not all that it goes by: repositories
// and clusters may have credentials of a project's own. Nor is anything judged
// where it has global projects, which add to the others, or where we may not know.
func (v *delivery) permitted(ctx context.Context, parts []*part) error {
	found := map[string]*forbidden{}
	var names []string
	for _, p := range parts {
		name := orDefault(v.asks(p).Spec.Project, "default")
		project := v.preparedProject(name)
		if project == nil {
			project = v.projects[name]
		}
		if project == nil {
			continue // it comes with the delivery
		}
		if found[name] == nil {
			found[name] = &forbidden{project: project}
			names = append(names, name)
		}
		v.judge(found[name], p)
	}
	var errs []error
	slices.Sort(names)
	for _, name := range names {
		if f := found[name]; len(f.bans) > 0 {
			errs = append(errs, f.error(v.layout.Namespace, v.r.Target))
		}
	}
	if len(errs) == 0 || !v.projectsAreAll(ctx) {
		return nil
	}
	return errors.Join(errs...)
}

// projectsAreAll says that Argo CD has no global projects, as far as we may know.
func (v *delivery) projectsAreAll(ctx context.Context) bool {
	settings, err := v.client.Settings(ctx, v.layout.Namespace)
	if err != nil {
		v.log.DebugContext(ctx, "it is not known whether Argo CD has global projects, so what a project does not permit is left to the sync to find", "err", err)
		return false
	}
	return strings.Trim(settings["globalProjects"], " \n[]") == ""
}

// asks is an Application as it asks for the delivery: its project, its sources and
// its destination.
func (v *delivery) asks(p *part) *argo.Application {
	if !p.direct {
		return p.declared
	}
	if p.app != nil {
		return p.app
	}
	for _, o := range v.r.Prepared {
		if isApplication(o.Group, o.Kind) && o.Namespace == p.object.Namespace && o.Name == p.object.Name {
			if a, err := argo.ParseApplication(o.JSON); err == nil {
				return a
			}
		}
	}
	return p.declared
}

// preparedProject is a project as the preparation makes it; nil if it does not.
func (v *delivery) preparedProject(name string) *argo.Project {
	for _, o := range v.r.Prepared {
		if o.Group == argo.Group && o.Kind == argo.KindProject && o.Namespace == v.layout.Namespace && o.Name == name {
			p := &argo.Project{}
			if json.Unmarshal(o.JSON, p) == nil {
				return p
			}
		}
	}
	return nil
}

// judge holds a project against an Application and what that brings.
func (v *delivery) judge(f *forbidden, p *part) {
	a, name := v.asks(p), p.String()
	// The controller says so of an Application that it has looked at.
	accepted := p.app != nil && p.app.Spec.Project == a.Spec.Project && p.app.Accepted()
	for _, s := range a.Sources() {
		url := s.Text("repoURL")
		if url == "" || accepted && slices.ContainsFunc(p.app.Sources(), func(was argo.Source) bool { return was.Text("repoURL") == url }) {
			continue
		}
		if ban := f.project.Spec.BanOfSource(url); ban != nil {
			f.add(banned{Ban: *ban, what: "the repository " + url, entry: url}, name)
		}
	}
	d := a.Spec.Destination
	if (d.Server != "" || d.Name != "") && !(accepted && p.app.Spec.Destination == d) {
		if ban := f.project.Spec.BanOfDestination(d, d.Namespace); ban != nil {
			f.add(banned{Ban: *ban, what: "the destination " + d.String(), entry: d}, name)
		}
	}
	for i, o := range v.r.Objects {
		if o.By == name {
			v.judgeObject(f, p, d, v.r.Resolved[i])
		}
	}
}

func (v *delivery) judgeObject(f *forbidden, p *part, d argo.Destination, o receipt.Object) {
	known := ""
	if p.app != nil && p.app.Spec.Project == v.asks(p).Spec.Project {
		known = p.app.StatusOf(o.Group, o.Kind, o.Namespace, o.Name)
	}
	kind := argo.GroupKind{Group: o.Group, Kind: o.Kind}
	if ban := f.project.Spec.BanOfKind(kind, o.Namespace != ""); ban != nil && known != "Synced" && known != "OutOfSync" {
		f.add(banned{Ban: *ban, what: "the kind " + kind.String(), entry: kind}, lifecycle.ObjectName(o))
	}
	if o.Namespace == "" || d.Server == "" && d.Name == "" || known == "Synced" {
		return
	}
	if ban := f.project.Spec.BanOfDestination(d, o.Namespace); ban != nil {
		d.Namespace = o.Namespace
		f.add(banned{Ban: *ban, what: "the destination " + d.String(), entry: d}, lifecycle.ObjectName(o))
	}
}

func (f *forbidden) add(b banned, of string) {
	i := slices.IndexFunc(f.bans, func(o banned) bool { return o.Ban == b.Ban && o.what == b.what })
	if i < 0 {
		i, f.bans = len(f.bans), append(f.bans, b)
	}
	if !slices.Contains(f.bans[i].of, of) {
		f.bans[i].of = append(f.bans[i].of, of)
	}
}

// error names all that the project does not permit, and what to change in it.
func (f *forbidden) error(namespace, target string) error {
	var b strings.Builder
	name := f.project.Metadata.Name
	fmt.Fprintf(&b, "AppProject %s/%s does not permit:", namespace, name)
	var ops []argo.Op
	var denied []string
	for _, ban := range f.bans {
		fmt.Fprintf(&b, "\n  %s (%s), by spec.%s", ban.what, listed(ban.of), ban.Field)
		if ban.By != "" {
			fmt.Fprintf(&b, ", which has %s", ban.By)
			denied = append(denied, ban.Field)
			continue
		}
		op := argo.Op{Op: "add", Path: "/spec/" + ban.Field + "/-", Value: ban.entry}
		if whole := "/spec/" + ban.Field; !f.project.Spec.Has(ban.Field) && !slices.ContainsFunc(ops, func(o argo.Op) bool { return o.Path == whole }) {
			op.Path, op.Value = whole, []any{ban.entry}
		}
		ops = append(ops, op)
	}
	var next []string
	switch own := f.project.Metadata.Labels[keys.ManagedBy] == keys.Manager && name == keys.Manager+"-"+target; {
	case own && len(ops) > 0:
		next = append(next, "Bring the project up to date: kubectl pharos deploy")
	case len(ops) > 0:
		patch, err := json.Marshal(ops)
		if err == nil {
			next = append(next, fmt.Sprintf("Permit it, if that is meant: kubectl patch appproject --namespace %s %s --type json --patch '%s'", namespace, name, patch))
		}
	}
	if len(denied) > 0 {
		slices.Sort(denied)
		next = append(next, fmt.Sprintf("Take what denies it out of spec.%s, if it is meant to be delivered: kubectl edit appproject --namespace %s %s",
			strings.Join(slices.Compact(denied), " and spec."), namespace, name))
	}
	return &lifecycle.BlockedError{Reason: b.String(), Next: strings.Join(next, "\n")}
}
