package argocd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/lifecycle"
)

func isNotFound(err error) bool { return apierrors.IsNotFound(err) }

// change patches an Application with what make says of it, as often as somebody
// else changes it in between. Nil operations are no write. make and guard are
// called before each try.
func (d *Deliverer) change(ctx context.Context, p *part, guard func(context.Context) error, make func(*argo.Application) ([]argo.Op, error)) error {
	const tries = 20 // the controller writes the status often
	pause := 20 * time.Millisecond
	for n := 1; ; n++ {
		if p.app == nil {
			return d.missing(p, "is gone")
		}
		ops, err := make(p.app)
		if err != nil || ops == nil {
			return err
		}
		if err := guard(ctx); err != nil {
			return err
		}
		changed, err := d.client.Patch(ctx, p.app, d.manager, ops)
		if err == nil {
			p.app = changed
			return nil
		}
		// After an error that does not tell whether it was done, the Application does.
		again := argo.Changed(err) || !kubeclient.Refused(err) || kubeclient.Transient(err)
		if !again || n == tries || ctx.Err() != nil {
			return explain("write", p.String(), err)
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, time.Second)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := d.readOne(ctx, p); err != nil {
			return err
		}
	}
}

// write points an Application of the layout at the commit.
func (v *delivery) write(ctx context.Context, p *part) (lifecycle.Change, error) {
	change := lifecycle.Change{Type: lifecycle.ChangeUnchanged, Object: p.object}
	err := v.change(ctx, p, v.r.Guard, func(a *argo.Application) ([]argo.Op, error) {
		if err := v.ours(ctx, a); err != nil {
			return nil, err
		}
		if argo.Busy(a) {
			return nil, busy(p)
		}
		ops, err := v.sources(p)
		if err != nil {
			return nil, err
		}
		if ops != nil {
			change.Type = lifecycle.ChangeConfigured
		}
		return append(v.marks(a), ops...), nil
	})
	return change, err
}

// sources are the operations that give an Application's sources what the
// rendering says, nil if they have it already.
func (v *delivery) sources(p *part) ([]argo.Op, error) {
	commit := string(v.r.Commit)
	var ops []argo.Op
	wanted := p.declared.Sources()
	found := make([]bool, len(wanted))
	for i, live := range p.app.Sources() {
		if !argo.SameRepository(live.Text("repoURL"), v.layout.Repository) {
			continue
		}
		at := []string{"spec", "source"}
		if p.app.Several() {
			at = []string{"spec", "sources", strconv.Itoa(i)}
		}
		set := func(field string, value any) {
			ops = append(ops, argo.Op{Op: "add", Path: argo.PointerTo(append(slices.Clone(at), field)...), Value: value})
		}
		if live.Text("targetRevision") != commit {
			set("targetRevision", commit)
		}
		w := slices.IndexFunc(wanted, func(s argo.Source) bool { return argo.SamePath(s.Text("path"), live.Text("path")) })
		if w < 0 {
			if live.Text("path") != "" {
				return nil, v.mismatch(p, "has the folder "+live.Text("path"))
			}
			continue // others refer to it for values
		}
		found[w] = true
		k, err := kustomizeOf(p, live, wanted[w])
		if err != nil {
			return nil, err
		}
		if !argo.SameSources([]argo.Source{{"kustomize": k}}, []argo.Source{{"kustomize": live["kustomize"]}}) {
			set("kustomize", k)
		}
	}
	for i, ok := range found {
		if !ok {
			return nil, v.mismatch(p, "has no source with the folder "+wanted[i].Text("path")+" of "+v.layout.Repository)
		}
	}
	return ops, nil
}

func (v *delivery) mismatch(p *part, what string) error {
	return &lifecycle.Error{Op: "deliver", On: p.String(), Class: lifecycle.ErrSource, Err: fmt.Errorf("%w: it %s, which is not what the target says", ErrLayout, what),
		Advice: fmt.Sprintf("Make overlay, deliver and git.url of the target in pharos.yaml agree with the Application's sources. To change those: kubectl edit application --namespace %s %s",
			p.object.Namespace, p.object.Name)}
}

// kustomizeOf is what the options of a source become. Those that Pharos does
// not set and that change what is rendered would make the receipt untrue.
func kustomizeOf(p *part, live, wanted argo.Source) (map[string]any, error) {
	set := maps.Clone(wanted.Kustomize())
	ours := append(slices.Clone(options), "commonLabels", "patches")
	for _, field := range slices.Sorted(maps.Keys(live.Kustomize())) {
		if !slices.Contains(ours, field) {
			return nil, &lifecycle.Error{Op: "deliver", On: p.String(), Class: lifecycle.ErrSource,
				Err:    fmt.Errorf("%w: its source sets kustomize.%s", ErrLayout, field),
				Advice: "Put it into the kustomization.yaml of the folder " + live.Text("path") + ", and take it out of the Application."}
		}
	}
	if version, ok := live.Kustomize()["version"]; ok {
		set["version"] = version
	}
	return set, nil
}

// marks are the operations beside those on sources: the fencing token, which is
// tested too, and a request to look, whose answer is the proof that the
// controller has seen this write.
func (v *delivery) marks(a *argo.Application) []argo.Op {
	var ops []argo.Op
	annotations := a.Metadata.Annotations
	if annotations == nil {
		ops = append(ops, argo.Op{Op: "add", Path: "/metadata/annotations", Value: map[string]string{}})
	}
	token := argo.PointerTo("metadata", "annotations", keys.FencingToken)
	if old, ok := annotations[keys.FencingToken]; ok {
		ops = append(ops, argo.Op{Op: "test", Path: token, Value: old})
	}
	ops = append(ops, argo.Op{Op: "add", Path: token, Value: strconv.FormatInt(v.r.Token, 10)})
	if a.Metadata.Labels[keys.Target] != v.r.Target && v.r.Target != "" {
		if a.Metadata.Labels == nil {
			ops = append(ops, argo.Op{Op: "add", Path: "/metadata/labels", Value: map[string]string{}})
		}
		ops = append(ops, argo.Op{Op: "add", Path: argo.PointerTo("metadata", "labels", keys.Target), Value: v.r.Target})
	}
	return append(ops, refresh("normal"))
}

func refresh(kind string) argo.Op {
	return argo.Op{Op: "add", Path: argo.PointerTo("metadata", "annotations", argo.RefreshAnnotation), Value: kind}
}

// fenced wants no later holder of the lease to have written, and no other
// target.
func (v *delivery) fenced(a *argo.Application) error {
	if other := a.Metadata.Labels[keys.Target]; other != "" && v.r.Target != "" && other != v.r.Target && !v.r.Adopt {
		return &lifecycle.BlockedError{Reason: fmt.Sprintf("%s belongs to the target %q, by its label %s", a, other, keys.Target),
			Next: "Give each target an Application of its own, or take it over: --adopt-objects"}
	}
	text, ok := a.Metadata.Annotations[keys.FencingToken]
	if !ok || v.r.DryRun {
		return nil
	}
	token, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || token > v.r.Token {
		return &lifecycle.BlockedError{
			Reason: fmt.Sprintf("%s was written under a later lease: its annotation %s is %q, and this one's token is %d", a, keys.FencingToken, text, v.r.Token),
			Next: fmt.Sprintf("Run it again. If the target's lease was deleted, take the annotation away: kubectl annotate --namespace %s application %s %s-",
				a.Metadata.Namespace, a.Metadata.Name, keys.FencingToken),
		}
	}
	return nil
}
