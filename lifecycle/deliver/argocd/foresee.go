package argocd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/internal/objectjson"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/deliver/apply"
	"github.com/pharos-dev/pharos/receipt"
)

// Foreseer is an Objects that can ask the cluster what it would make of what Argo
// CD sends: the Deliverer of package apply is one. Implementations are safe for
// concurrent use.
type Foreseer interface {
	// Find returns those of the objects that carry the target's label, whole and as
	// JSON, in the same order; nil for others.
	Find(ctx context.Context, target string, objects []receipt.Object) ([][]byte, []error)
	// Get returns one object, whether or not it carries a label; nil if it is not
	// there.
	Get(ctx context.Context, o receipt.Object) ([]byte, error)
	// Try asks what the cluster would make of a write, and changes nothing. Where we
	// may not write, its error and theirs match lifecycle.ErrForbidden.
	Try(ctx context.Context, t apply.Trial) ([]byte, error)
}

var _ Foreseer = (*apply.Deliverer)(nil)

// controller is the field manager of Argo CD's controller.
const controller = "argocd-controller"

// foresight is a look at what a sync of the commit would make of the objects.
type foresight struct {
	*delivery
	ask   Foreseer
	parts []*part
	known *runtime.Scheme

	found    [][]byte
	findErrs []error
}

// foreseen is what a sync would make of one object: nothing that is to be said of
// it where it has no type.
type foreseen struct {
	lifecycle.Comparison
	err error
}

// foresee asks what a sync of the commit would make of each object, in the order
// of the request. It writes nothing. The error is that of a server that does not
// answer: those of single objects stand beside them.
func (v *delivery) foresee(ctx context.Context, parts []*part) ([]foreseen, error) {
	ask, ok := v.objects.(Foreseer)
	if !ok {
		return nil, errors.New("argocd: Config.Objects cannot be asked what would be")
	}
	known, err := mergedKinds()
	if err != nil {
		return nil, err
	}
	f := &foresight{delivery: v, ask: ask, parts: parts, known: known}
	f.found, f.findErrs = ask.Find(ctx, v.r.Target, v.r.Resolved)
	list := make([]foreseen, len(v.r.Objects))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i := range list {
		g.Go(func() error {
			list[i] = f.object(ctx, i)
			list[i].Object = v.r.Resolved[i]
			if unavailable(list[i].err) {
				return list[i].err // the others meet the same end
			}
			return nil
		})
	}
	return list, g.Wait()
}

// unavailable says that the server did not answer.
func unavailable(err error) bool {
	return errors.Is(err, lifecycle.ErrUnreachable) && !errors.Is(err, lifecycle.ErrForbidden)
}

func (f *foresight) object(ctx context.Context, i int) (out foreseen) {
	o := f.r.Resolved[i]
	if isApplication(o.Group, o.Kind) && f.layout.direct(o.Namespace, o.Name) {
		return f.pointed(ctx, i)
	}
	if out.err = f.findErrs[i]; out.err != nil {
		return out
	}
	manifest, err := objectjson.Decode(f.r.Objects[i].JSON)
	if err != nil {
		out.err = &lifecycle.Error{Op: "read", On: lifecycle.ObjectName(o), Class: lifecycle.ErrSource, Err: err}
		return out
	}
	if o.Namespace != "" {
		metadataOf(manifest)["namespace"] = o.Namespace
	}
	s := &sent{foresight: f, object: o, part: f.partOf(f.r.Objects[i].By), manifest: manifest}
	if s.part != nil {
		s.manner = mannerOf(s.part.latest(), annotationsOf(manifest))
	}
	return s.foresee(ctx, f.found[i])
}

// partOf is the Application that brings an object; nil if that is not known.
func (f *foresight) partOf(by string) *part {
	i := slices.IndexFunc(f.parts, func(p *part) bool { return p.String() == by })
	if i < 0 {
		return nil
	}
	return f.parts[i]
}

// pointed is what becomes of an Application of the layout: the fields are set that
// a delivery sets, but for those that say when and under which lease.
func (f *foresight) pointed(ctx context.Context, i int) (out foreseen) {
	o := f.r.Resolved[i]
	p := f.parts[slices.IndexFunc(f.parts, func(p *part) bool { return receipt.CompareObjects(p.object, o) == 0 })]
	if p.app == nil {
		out.Type, out.Merged = lifecycle.ChangeCreated, f.r.Objects[i].JSON
		if f.prepared(o.Kind, o.Namespace, o.Name) {
			out.Type = lifecycle.ChangeConfigured // it is there by then
		}
		return out
	}
	ops, err := f.sources(p)
	if err != nil {
		out.err = err
		return out
	}
	out.Live, out.Merged, err = f.client.Try(ctx, p.app, f.manager, ops)
	switch {
	case apierrors.IsForbidden(err):
		out.err = &lifecycle.Error{Op: "try", On: p.String(), Class: notAllowed, Err: err, Advice: "Ask an administrator for the right to patch it."}
	case err != nil:
		out.err = explain("try", p.String(), err)
	default:
		out.Type = typeOf(out.Live, out.Merged)
	}
	return out
}

// notAllowed is the class of what we have no right to.
var notAllowed = errors.Join(lifecycle.ErrUnreachable, lifecycle.ErrForbidden)

// sent is one object that Argo CD brings.
type sent struct {
	*foresight
	object   receipt.Object
	part     *part
	manner   manner
	manifest map[string]any
}

func (s *sent) foresee(ctx context.Context, held []byte) foreseen {
	switch {
	case s.manner.skipped:
		return foreseen{}
	case s.manner.serverSide && s.manner.force && !s.manner.replace:
		return foreseen{err: &lifecycle.Error{Op: "apply", On: lifecycle.ObjectName(s.object), Class: lifecycle.ErrSource,
			Err: errors.New("it cannot be applied server-side and by force by Argo CD"), Advice: "Take Force=true or ServerSideApply=true out of the sync options."}}
	case s.manner.hook && held != nil:
		return s.hook(ctx, held)
	}
	out := s.applied(ctx, held)
	if s.manner.passing && out.err == nil {
		return foreseen{} // it is gone again when the sync ends
	}
	return out
}

// applied is what becomes of an object that stays. held is what is there, nil if
// nothing is known to be.
func (s *sent) applied(ctx context.Context, held []byte) (out foreseen) {
	if held == nil {
		created, err := s.create(ctx)
		if !errors.Is(err, apply.ErrExists) {
			out.Type, out.Merged, out.err = lifecycle.ChangeCreated, created, err
			return out
		}
		if held, out.err = s.ask.Get(ctx, s.object); out.err != nil || held == nil {
			return out // held by nobody any more: whoever asks again is told
		}
	}
	live, err := objectjson.Decode(held)
	if err != nil {
		out.err = err
		return out
	}
	out.Live = shown(live)
	merged, err := s.change(ctx, live)
	if err == nil && merged == nil {
		merged = held
	}
	if s.madeAnew(live, err) {
		merged, err = s.anew(ctx)
	}
	if out.err = err; err != nil {
		return out
	}
	after, err := objectjson.Decode(merged)
	if err != nil {
		out.err = err
		return out
	}
	out.Merged = shown(after)
	out.Type = typeOf(out.Live, out.Merged)
	return out
}

// change asks what becomes of a live object; nil is nothing.
func (s *sent) change(ctx context.Context, live map[string]any) ([]byte, error) {
	if s.part != nil {
		tracked(s.manifest, live, s.part.object.Name)
	}
	gvk := schema.GroupVersionKind{Group: s.object.Group, Version: s.object.Version, Kind: s.object.Kind}
	if s.manner.serverSide && !s.manner.replace && !managedBy(live, s.manner.migrated) {
		body, err := json.Marshal(s.manifest)
		if err != nil {
			return nil, err
		}
		after, err := s.try(ctx, apply.FormApply, body)
		if err != nil || annotationsOf(live)[lastApplied] == "" {
			return after, err
		}
		// What Argo CD had applied by the client's side is then taken over, and what
		// of that the manifest says no more goes.
	}
	p, err := replacement(s.manifest, live)
	if !s.manner.replace {
		p, err = clientSide(s.known, gvk, s.manifest, live)
	}
	if err != nil {
		if s.object.Group == "" && s.object.Kind == "Secret" {
			err = errors.New("it cannot be merged; why is withheld, since that may quote a value of the Secret")
		}
		return nil, &lifecycle.Error{Op: "foresee", On: lifecycle.ObjectName(s.object), Err: err,
			Advice: "Argo CD would fail at it too. Look at the annotation " + lastApplied + " of the live object."}
	}
	if p.empty() {
		return nil, nil
	}
	return s.try(ctx, p.form, p.body)
}

// create asks what becomes of an object that is not there.
func (s *sent) create(ctx context.Context) ([]byte, error) {
	body, err := s.body(s.manifest)
	if err != nil {
		return nil, err
	}
	created, err := s.try(ctx, apply.FormObject, body)
	switch {
	case s.comes(err):
		return shown(s.manifest), nil
	case err != nil:
		return nil, err
	}
	o, err := objectjson.Decode(created)
	return shown(o), err
}

// body is a manifest as it is sent to be created.
func (s *sent) body(manifest map[string]any) ([]byte, error) {
	if s.manner.replace || s.manner.serverSide {
		return json.Marshal(manifest)
	}
	return annotatedManifest(manifest)
}

// comes says that the server can only not be asked because the object's namespace
// or kind comes with the same delivery, or before it.
func (s *sent) comes(err error) bool {
	if !apierrors.IsNotFound(err) {
		return false
	}
	if kubeclient.NamespaceMissing(err) {
		declared := func(o receipt.Object) bool {
			return o.Group == "" && o.Kind == "Namespace" && o.Name == s.object.Namespace
		}
		return slices.ContainsFunc(s.r.Resolved, declared) || s.preparedNamespace(s.object.Namespace) ||
			s.part != nil && makesNamespace(s.part.latest(), s.object.Namespace)
	}
	return slices.ContainsFunc(s.r.Resolved, func(o receipt.Object) bool {
		return o.Group == "apiextensions.k8s.io" && o.Kind == "CustomResourceDefinition" && o.Name == s.object.Resource+"."+s.object.Group
	})
}

func (v *delivery) preparedNamespace(name string) bool {
	return slices.ContainsFunc(v.r.Prepared, func(o lifecycle.Object) bool { return o.Group == "" && o.Kind == "Namespace" && o.Name == name })
}

// try sends a trial, as Argo CD's controller.
func (s *sent) try(ctx context.Context, form apply.Form, body []byte) ([]byte, error) {
	after, err := s.ask.Try(ctx, apply.Trial{Object: s.object, Form: form, Body: body, Manager: controller})
	if refusal, ok := errors.AsType[*lifecycle.Error](err); ok && s.object.Group == "batch" && s.object.Kind == "Job" && apierrors.IsInvalid(err) {
		refusal.Advice = "Make it a hook of Argo CD, which is made anew with every sync: argocd.argoproj.io/hook: Sync. Or give it another name."
	}
	return after, err
}

// madeAnew says whether Argo CD deletes what is there and makes it anew: where it
// is told to, and where the role of a binding changes.
func (s *sent) madeAnew(live map[string]any, err error) bool {
	if s.manner.force && (s.manner.replace || apierrors.IsInvalid(err) || apierrors.IsConflict(err)) {
		return true
	}
	return s.object.Group == "rbac.authorization.k8s.io" && strings.HasSuffix(s.object.Kind, "Binding") &&
		!reflect.DeepEqual(live["roleRef"], s.manifest["roleRef"])
}

// anew asks what becomes of an object that is made anew, under another name: its
// own is taken as yet.
func (s *sent) anew(ctx context.Context) ([]byte, error) {
	const kept = 40
	manifest := copied(s.manifest)
	metadata := metadataOf(manifest)
	delete(metadata, "name")
	metadata["generateName"] = strings.TrimRight(s.object.Name[:min(len(s.object.Name), kept)], ".") + "-"
	body, err := s.body(manifest)
	if err != nil {
		return nil, err
	}
	created, err := s.try(ctx, apply.FormObject, body)
	if err != nil {
		return nil, err
	}
	o, err := objectjson.Decode(created)
	if err != nil {
		return nil, err
	}
	metadata, _ = o["metadata"].(map[string]any)
	invented, _ := metadata["name"].(string)
	delete(metadata, "generateName")
	renamed, err := objectjson.Encode(o)
	return bytes.ReplaceAll(renamed, []byte(`"`+invented+`"`), []byte(`"`+s.object.Name+`"`)), err
}

// hook compares the manifest with the one that a hook was made of the last time,
// and tries it: it is made anew with every sync, so that what the cluster made of
// it the last time says nothing.
func (s *sent) hook(ctx context.Context, held []byte) (out foreseen) {
	live, err := objectjson.Decode(held)
	if err != nil {
		out.err = err
		return out
	}
	if _, out.err = s.anew(ctx); out.err != nil {
		return out
	}
	before := map[string]any{}
	if json.Unmarshal([]byte(annotationsOf(live)[lastApplied]), &before) != nil {
		before = live
	}
	out.Live, out.Merged = shown(withoutFinalizer(before)), shown(s.manifest)
	out.Type = typeOf(out.Live, out.Merged)
	return out
}
