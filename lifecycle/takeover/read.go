package takeover

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/catalogue"
	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/internal/argo"
	"github.com/pharos-dev/pharos/internal/keys"
	"github.com/pharos-dev/pharos/internal/kubeclient"
	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/receipt"
)

// Source is what a plan is read from.
type Source struct {
	// Lifecycle is the target's. Required.
	Lifecycle *lifecycle.Lifecycle
	// REST is how the target's API server is reached. Required.
	REST *rest.Config
	// Repository has the commit of the live receipt. Required.
	Repository lifecycle.Repository
	// Tree is the working tree, as of worktree.Snapshot. Required.
	Tree source.Tree
	// Controller says whether the target's controller would put back what is left
	// alone. The default is that there is none.
	Controller func(context.Context) (Healer, error)
}

// Read reads the facts of a plan. It writes nothing. Errors match
// lifecycle.ErrSource for what a commit, or an edit, has to mend, and
// lifecycle.ErrUnreachable for the target.
func Read(ctx context.Context, src Source) (Facts, error) {
	r := &reading{Source: src}
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return r.target(gctx) })
	g.Go(func() error { return r.workingTree(gctx) })
	if src.Controller != nil {
		g.Go(func() (err error) { r.facts.Controller, err = src.Controller(gctx); return err })
	}
	if err := g.Wait(); err != nil {
		return Facts{}, lifecycle.TargetError(err)
	}
	if r.facts.Record == nil || r.facts.Applied != r.facts.Live {
		return r.facts, nil // Select says so
	}
	if err := r.compare(ctx); err != nil {
		return Facts{}, err
	}
	return r.facts, lifecycle.TargetError(r.lookAtTarget(ctx))
}

// reading is one call of Read.
type reading struct {
	Source
	facts Facts
	// commit is that of the live receipt.
	commit source.Commit
}

// target reads what the target says of itself.
func (r *reading) target(ctx context.Context) error {
	l := r.Lifecycle
	r.facts.Target = l.Target
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) { r.facts.ClusterUID, err = l.Cluster.UID(gctx); return err })
	g.Go(func() (err error) {
		p, err := l.Receipts.Pointers(gctx)
		if errors.Is(err, receipt.ErrCorrupt) {
			r.unreadable("the pointers to what is applied and live", err)
			return nil
		}
		r.facts.Applied, r.facts.Live = p.Applied, p.Live
		return err
	})
	if err := g.Wait(); err != nil || r.facts.Live == "" {
		return err
	}
	record, err := l.Receipts.Get(ctx, r.facts.Live)
	switch {
	case errors.Is(err, receipt.ErrNotFound) || errors.Is(err, receipt.ErrCorrupt):
		r.unreadable("the live receipt "+r.facts.Live.Short(), err)
		return nil
	case err != nil:
		return err
	case record.Target.ClusterUID != r.facts.ClusterUID:
		r.unreadable("the live receipt "+r.facts.Live.Short(), fmt.Errorf("it is of another cluster: it names %s, this one is %s", record.Target.ClusterUID, r.facts.ClusterUID))
		return nil
	}
	r.facts.Record = &record
	return nil
}

func (r *reading) unreadable(what string, err error) {
	r.facts.Unreadable = append(r.facts.Unreadable, lifecycle.Unreadable{What: what, Err: err})
}

// workingTree computes the images of the working tree.
func (r *reading) workingTree(ctx context.Context) error {
	fail := func(op string, err error) error {
		return &lifecycle.Error{Op: op, On: "the working tree", Class: lifecycle.ErrSource, Err: err}
	}
	c, err := catalogue.Load(ctx, r.Tree)
	if err != nil {
		return fail("read "+catalogue.FileName+" of", err)
	}
	states, err := c.States(ctx, r.Tree)
	failed := catalogue.FailedImages(err)
	if err != nil && len(failed) == 0 {
		return fail("compute fingerprints of", err)
	}
	r.facts.Tree, r.facts.Images, r.facts.Delivery, r.facts.States, r.facts.Failed = r.Tree.ID, c.Images, c.Delivery, states, failed
	return nil
}

// compare compares the live receipt's commit with the working tree, and renders it.
func (r *reading) compare(ctx context.Context) error {
	rec := r.facts.Record
	fail := func(op string, err error) error {
		return &lifecycle.Error{Op: op, On: "commit " + short(commitOf(rec)), Class: lifecycle.ErrSource, Err: err}
	}
	var err error
	r.commit, err = r.Repository.Commit(ctx, rec.Commit)
	if errors.Is(err, source.ErrNotFound) || errors.Is(err, source.ErrUnknownRevision) {
		return &lifecycle.Error{Op: "read", On: "commit " + short(commitOf(rec)), Class: lifecycle.ErrSource, Err: err,
			Advice: "It is what the target was healthy at last. Fetch it: git fetch origin " + rec.Commit}
	}
	if err != nil {
		return fail("read", err)
	}
	r.facts.Changes, err = catalogue.Classify(ctx, r.commit.Tree, r.Tree, rec.Reads)
	if err != nil {
		return fail("compare the working tree with", err)
	}
	r.facts.Reasons = map[string][]catalogue.Reason{}
	for _, st := range r.facts.States {
		known := recorded(rec, st.Image.Name)
		if known == nil || known.Fingerprint == string(st.Fingerprint) {
			continue
		}
		x, err := catalogue.Explain(ctx, st.Image.Name, catalogue.Side{States: []catalogue.State{stateOf(known)}}, catalogue.Side{States: []catalogue.State{st}}, nil)
		if err != nil {
			return fail("compare image "+st.Image.Name+" with", err)
		}
		r.facts.Reasons[st.Image.Name] = x.Reasons
	}
	return r.render(ctx)
}

// stateOf is what a receipt says of an image.
func stateOf(k *receipt.Image) catalogue.State {
	st := catalogue.State{Image: catalogue.Image{Name: k.Name}, Fingerprint: catalogue.Fingerprint(k.Fingerprint), Bases: k.Bases}
	for _, f := range k.Preimage {
		st.Preimage = append(st.Preimage, catalogue.Field(f))
	}
	return st
}

// render renders what the live receipt delivered.
func (r *reading) render(ctx context.Context) error {
	l, rec := r.Lifecycle, r.facts.Record
	var images []lifecycle.ImageRef
	for _, i := range rec.Images {
		images = append(images, lifecycle.ImageRef{Name: i.Name, Repository: i.Repository, Digest: lifecycle.Digest(i.Digest)})
	}
	rendering, err := l.Renderer.Render(ctx, lifecycle.RenderRequest{Tree: r.commit.Tree, Commit: r.commit.ID, Overlay: l.Overlay, Images: images,
		Labels: map[string]string{keys.Target: l.Target}})
	if err != nil {
		return err
	}
	resolved, err := l.Deliverer.Resolve(ctx, rendering.Objects)
	if err != nil {
		return lifecycle.TargetError(err)
	}
	for i, o := range resolved {
		r.facts.Declared = append(r.facts.Declared, Declared{Object: o, By: rendering.Objects[i].By, JSON: rendering.Objects[i].JSON})
	}
	return nil
}

// lookAtTarget reads the Deployments that use images of the receipt, and what brings
// them.
func (r *reading) lookAtTarget(ctx context.Context) error {
	client, err := kubeclient.New(r.REST, appsv1.SchemeGroupVersion, appsv1.AddToScheme)
	if err != nil {
		return err
	}
	apps, err := argo.NewClient(r.REST)
	if err != nil {
		return err
	}
	r.facts.Deployments, r.facts.Applications = map[types.NamespacedName][]byte{}, map[string]Healer{}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for _, d := range r.facts.Declared {
		if found, err := uses(d, r.facts.Record); err != nil || len(found) == 0 || !d.isDeployment() {
			continue // Select says what cannot be read
		}
		g.Go(func() error {
			doc, err := read(ctx, client, d.key())
			mu.Lock()
			defer mu.Unlock()
			if doc != nil {
				r.facts.Deployments[d.key()] = doc
			}
			return err
		})
		mu.Lock()
		_, asked := r.facts.Applications[d.By]
		r.facts.Applications[d.By] = Healer{}
		mu.Unlock()
		if asked || d.By == "" {
			continue
		}
		g.Go(func() error {
			h, err := application(ctx, apps, d.By)
			mu.Lock()
			defer mu.Unlock()
			r.facts.Applications[d.By] = h
			return err
		})
	}
	err = g.Wait()
	delete(r.facts.Applications, "")
	return err
}

// read returns a Deployment as JSON, nil if there is none.
func read(ctx context.Context, client *rest.RESTClient, key types.NamespacedName) (doc []byte, err error) {
	err = kubeclient.Retry(ctx, func() error {
		result := client.Get().Namespace(key.Namespace).Resource("deployments").Name(key.Name).SetHeader("Accept", "application/json").MaxRetries(0).Do(ctx)
		if err := result.Error(); err != nil {
			return err
		}
		doc, err = result.Raw()
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, &lifecycle.Error{Op: "read", On: "Deployment " + key.String(), Err: err}
	}
	return doc, nil
}

// application says whether an Application, as "Application argocd/shop", puts back
// what was changed: it does by self-heal, which leaves alone a revision that could
// not be synced.
func application(ctx context.Context, client *argo.Client, name string) (Healer, error) {
	h := Healer{Name: name}
	_, full, _ := strings.Cut(name, " ")
	namespace, own, _ := strings.Cut(full, "/")
	a, err := client.Application(ctx, namespace, own)
	switch {
	case apierrors.IsNotFound(err):
		h.Why = "it does not exist"
		return h, nil
	case err != nil:
		return h, &lifecycle.Error{Op: "read", On: name, Err: err}
	}
	h.Why = notHealing(a)
	return h, nil
}

// notHealing says why an Application would not put back what was changed; empty if it
// would.
func notHealing(a *argo.Application) string {
	last := a.Status.OperationState
	switch {
	case !a.Automated() || !a.Spec.SyncPolicy.Automated.SelfHeal:
		return "its syncPolicy.automated.selfHeal is off"
	case last != nil && last.Phase != "Succeeded":
		return fmt.Sprintf("its last operation did not succeed, it is %s", last.Phase)
	}
	return ""
}
