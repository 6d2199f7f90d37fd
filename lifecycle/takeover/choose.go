package takeover

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/environment"
)

// choose says which of the objects are taken over.
func (s *selection) choose(names []string) {
	if len(names) == 0 {
		for i, o := range s.objects {
			s.objects[i].chosen = slices.ContainsFunc(o.uses, func(u use) bool { return s.changed(u.image) })
		}
		s.unused()
		return
	}
	for _, name := range names {
		found := s.named(name)
		if len(found) == 0 {
			s.block(Block{Subject: name, Reason: "no Deployment or image of the live receipt is called so" + s.others(), Next: "Name one of them, or none for those that the working tree changes.", unknown: true})
		}
		for _, i := range found {
			s.objects[i].chosen = true
		}
	}
	for _, o := range s.objects {
		for _, u := range o.uses {
			if !o.chosen && s.changed(u.image) {
				s.warn(lifecycle.ObjectName(o.Object), "image %s is changed, and here it stays as it is", u.image)
			}
		}
	}
}

// deploymentNames are the names of the kind that kubectl takes.
var deploymentNames = []string{"deploy", "deployment", "deployments", "deployment.apps", "deployments.apps"}

// named are the objects that a name of Select is for.
func (s *selection) named(name string) (found []int) {
	where := func(is func(object) bool) (found []int) {
		for i, o := range s.objects {
			if is(o) {
				found = append(found, i)
			}
		}
		return found
	}
	kind, rest, two := strings.Cut(name, "/")
	if two && slices.Contains(deploymentNames, strings.ToLower(kind)) {
		return where(func(o object) bool { return o.isDeployment() && o.Name == rest })
	}
	if two {
		return where(func(o object) bool { return o.isDeployment() && o.Namespace == kind && o.Name == rest })
	}
	if found = where(func(o object) bool { return o.isDeployment() && o.Name == name }); len(found) > 0 {
		return found
	}
	return where(func(o object) bool { return slices.ContainsFunc(o.uses, func(u use) bool { return u.image == name }) })
}

// others lists what could have been named.
func (s *selection) others() string {
	var names []string
	for _, o := range s.objects {
		if o.isDeployment() {
			names = append(names, "deploy/"+o.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return ": there are " + strings.Join(slices.Compact(names), ", ")
}

// unused finds changed images that no object would show.
func (s *selection) unused() {
	for _, c := range s.plan.Changed {
		used := slices.ContainsFunc(s.objects, func(o object) bool {
			return slices.ContainsFunc(o.uses, func(u use) bool { return u.image == c.Name })
		})
		// What is built on it has changed too, and is used or not itself.
		base := slices.ContainsFunc(s.States, func(other state) bool { return contains(other.Dependencies, c.Name) })
		if !used && !base {
			s.block(Block{Subject: "image " + c.Name, Reason: fmt.Sprintf("no workload of the live receipt uses it, and %s", c.Reason), Next: reconcileFirst})
		}
	}
}

// check makes the workloads of the chosen objects, and says what cannot be taken over.
func (s *selection) check() {
	for _, o := range s.objects {
		if !o.chosen {
			continue
		}
		if w, ok := s.workload(o); ok {
			s.plan.Workloads = append(s.plan.Workloads, w)
			if app := nameOf(w.Application); app != "" && !contains(s.plan.Covers, app) {
				s.plan.Covers = append(s.plan.Covers, app)
			}
		}
	}
	slices.Sort(s.plan.Covers)
}

// nameOf is the name of what "Application argocd/shop" names.
func nameOf(application string) string { return application[strings.LastIndex(application, "/")+1:] }

// workload is the Deployment that an object is, if it can be taken over.
func (s *selection) workload(o object) (w Workload, ok bool) {
	subject, before := lifecycle.ObjectName(o.Object), len(s.plan.Blocked)
	refuse := func(next, format string, args ...any) {
		s.block(Block{Subject: subject, Reason: fmt.Sprintf(format, args...), Next: next})
	}
	if !o.isDeployment() {
		refuse(reconcileFirst, "it uses image %s, and only a Deployment can be taken over: what becomes of a %s is up to its controller", o.uses[0].image, o.Kind)
		return w, false
	}
	w = Workload{Namespace: o.Namespace, Name: o.Name, Application: o.By, Declared: o.JSON, Live: s.Deployments[o.key()], Command: []string{}, Environment: []environment.Name{}}
	s.container(o, &w, refuse)
	s.live(o, &w, refuse)
	s.heal(&w, refuse)
	return w, len(s.plan.Blocked) == before
}

type refusal func(next, format string, args ...any)

// container chooses the container, and how it runs.
func (s *selection) container(o object, w *Workload, refuse refusal) {
	var candidates []use
	for _, u := range o.uses {
		switch {
		case u.container == "" && s.changed(u.image):
			refuse(reconcileFirst, "%s uses image %s, which is changed and cannot be shown there", u.where, u.image)
		case u.container != "":
			candidates = append(candidates, u)
		}
	}
	if changed := slices.DeleteFunc(slices.Clone(candidates), func(u use) bool { return !s.changed(u.image) }); len(changed) > 0 {
		candidates = changed
	}
	if len(candidates) != 1 {
		var names []string
		for _, c := range candidates {
			names = append(names, c.container)
		}
		if len(names) > 0 {
			refuse(reconcileFirst, "its containers %s use images to take over, and only one of a pod can be", strings.Join(names, " and "))
		} else if len(o.uses) > 0 {
			refuse("", "no container of it runs an image of the catalogue: %s does", o.uses[0].where)
		}
		return
	}
	w.Container, w.Image = candidates[0].container, candidates[0].image
	img, _ := s.image(w.Image)
	if img.Run == nil {
		refuse("Say how it runs on a workstation: run of image "+w.Image+" in pharos.yaml. Then reconcile first: commit it, then kubectl pharos reconcile",
			"%s does not say how image %s runs on a workstation", "pharos.yaml", w.Image)
		return
	}
	w.describe(img)
}

// describe fills in how an image runs.
func (w *Workload) describe(img catalogue.Image) {
	w.Run, w.Build, w.Inputs, w.Command = *img.Run, img.Build, img.Inputs, append([]string{}, commandOf(img)...)
	for _, f := range w.Run.Forwards {
		w.Forwards = append(w.Forwards, Forward{Service: f.Address(), Local: f.Local, Environment: f.Env})
	}
	for _, p := range w.Run.Ports {
		w.Ports = append(w.Ports, Port{Container: p.Port, Local: p.Local, Environment: p.Env})
	}
}

// commandOf is what runs on the workstation, for people; nil if it is not known
// before the folder is looked at.
func commandOf(img catalogue.Image) []string {
	switch r := img.Run; {
	case r.Go != nil && img.Build.Go != nil:
		return append([]string{"go", "run", img.Build.Go.Package}, r.Go.Args...)
	case r.Python != nil && r.Python.Module != "":
		return append([]string{"python", "-m", r.Python.Module}, r.Python.Args...)
	case r.Python != nil:
		return append([]string{"python", r.Python.Script}, r.Python.Args...)
	case r.Node != nil && r.Node.Script != "":
		return append([]string{"npm", "run", r.Node.Script}, r.Node.Args...)
	case r.Node != nil:
		return append([]string{"node", r.Node.File}, r.Node.Args...)
	default:
		return r.Command
	}
}

// live looks at the Deployment on the target.
func (s *selection) live(o object, w *Workload, refuse refusal) {
	if !slices.Contains(s.Record.Objects, o.Object) {
		refuse(reconcileFirst, "what commit %s renders to is not what receipt %s delivered", short(commitOf(s.Record)), s.Live.Short())
	}
	if w.Live == nil {
		refuse(reconcileFirst, "it is not on the target")
		return
	}
	if w.Container == "" {
		return
	}
	d, refusals, warnings, err := divert.Plan(w.Live, w.Declared, w.Container, standIn(recorded(s.Record, w.Image).Repository))
	if err != nil {
		refuse("", "%v", err)
	}
	for _, r := range refusals {
		refuse(r.Next, "%s", r.Reason)
	}
	for _, warning := range warnings {
		s.warn(w.Subject(), "%s", warning)
	}
	w.UID = types.UID(d.UID)
	s.names(w, refuse)
	var marked struct {
		Metadata struct {
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
	}
	if err := decode(w.Live, &marked); err == nil && marked.Metadata.Labels[keys.Target] != s.Target {
		refuse(reconcileFirst, "it has no label %s=%s, without which nobody else would put it back", keys.Target, s.Target)
	}
	s.scaled(o)
}

// names finds the variables that reach the process.
func (s *selection) names(w *Workload, refuse refusal) {
	var d appsv1.Deployment
	if err := decode(w.Live, &d); err != nil {
		return // it is refused already
	}
	names, err := environment.Names(environment.Request{Namespace: w.Namespace, Pod: d.Spec.Template, Container: w.Container, Run: w.Run})
	if err != nil {
		refuse("", "%v", err)
	}
	w.Environment = append(w.Environment, names...)
}

// standIn stands for the agent's image while that is not pushed: it is in the same
// registry as the image of the repository.
func standIn(repository string) string {
	return repository[:strings.LastIndex(repository, "/")+1] + "pharos-agent@sha256:" + strings.Repeat("0", 64)
}

// scaled warns of what scales a Deployment.
func (s *selection) scaled(o object) {
	for _, d := range s.Declared {
		var scaler struct {
			Spec struct {
				Target struct {
					Kind string `json:"kind"`
					Name string `json:"name"`
				} `json:"scaleTargetRef"`
				Sized struct {
					Kind string `json:"kind"`
					Name string `json:"name"`
				} `json:"targetRef"` // of a VerticalPodAutoscaler
			} `json:"spec"`
		}
		if d.Namespace != o.Namespace || decode(d.JSON, &scaler) != nil {
			continue
		}
		if t := scaler.Spec.Target; t.Name == o.Name && (t.Kind == "" || t.Kind == "Deployment") {
			s.warn(lifecycle.ObjectName(o.Object), "%s scales it by what its pods use, which is little while the work is done on a workstation", lifecycle.ObjectName(d.Object))
		}
		if t := scaler.Spec.Sized; d.Kind == "VerticalPodAutoscaler" && t.Kind == "Deployment" && t.Name == o.Name {
			s.warn(lifecycle.ObjectName(o.Object), "%s learns from the agents that its pods need little, and may give them less for a while afterwards", lifecycle.ObjectName(d.Object))
		}
	}
}

// heal finds what puts the Deployment back if everybody else is gone.
func (s *selection) heal(w *Workload, refuse refusal) {
	app, declared := s.Applications[w.Application]
	controller := s.Controller.in(w.Namespace)
	switch {
	case declared && app.Why == "":
		w.Returns = app.Name
	case controller.Name != "" && controller.Why == "":
		w.Returns = controller.Name
	default:
		var why []string
		for _, h := range []Healer{app, controller} {
			if h.Name != "" {
				why = append(why, h.Name+" would not: "+h.Why)
			}
		}
		if len(why) == 0 {
			why = []string{"neither Argo CD nor a controller looks after it"}
		}
		refuse("Have Argo CD heal it (syncPolicy.automated.selfHeal), or install the target's controller: kubectl pharos deploy --controller-image IMAGE",
			"nothing would put it back if this machine were gone: %s", strings.Join(why, "; "))
	}
}
