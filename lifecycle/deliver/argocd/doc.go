// Package argocd delivers through Argo CD: it points Applications at the exact
// commit and image digests, and waits until that commit is live and healthy. It
// holds a lifecycle.Renderer and a lifecycle.Deliverer that belong together.
//
//	layout := argocd.Layout{Repository: "http://git.pharos.svc/repo.git", Overlay: "gitops/devbox", Root: "devbox"}
//	renderer, err := argocd.NewRenderer(layout, render.New())
//	objects, err := apply.New(apply.Config{RESTConfig: config})
//	deliverer, err := argocd.New(argocd.Config{RESTConfig: config, Layout: layout, Objects: objects})
//
// # Two topologies
//
// With [Layout.Root], one Application has the target's overlay. What the overlay
// declares is delivered by it; where that is an Application of the same
// repository, its overlay is delivered too, and so on:
//
//	root devbox          overlay gitops/devbox          → Applications api, web
//	  Application api    spec.source.path gitops/api    → Deployment api, …
//	  Application web    spec.source.path gitops/web    → Deployment web, …
//
// With [Layout.Applications], several Applications are delivered side by side.
//
// # What is set
//
// Pharos writes the Applications of the layout, and of their sources only those
// of [Layout.Repository]; all others stay as they are. In each such source:
//
//	targetRevision: COMMIT
//	kustomize:
//	  images: ["api=registry.example/shop/api@sha256:…"]   # those that its overlay uses
//	  commonLabels: {pharos.dev/target: devbox}            # on objects only
//	  labelWithoutSelector: true
//	  forceCommonLabels: true
//	  patches: […]                                         # of the Applications that it declares
//
// An Application that an overlay declares is never written: its parent would
// put it back. It gets the same by a patch (RFC 6902) among its parent's
// kustomize.patches. Applications with several sources work in the same way. What
// the controller takes out of an Application, such as a policy that says nothing,
// is taken out there too: otherwise the parent would be out of sync ever after.
//
// Every write is a JSON patch with the resource version and the UID of what was
// read. It also sets, and tests, the annotation pharos.dev/fencing-token: the
// token of the lease. An earlier holder of the lease can therefore not write
// after a later one. In the same patch argocd.argoproj.io/refresh asks the
// controller to look; that it has taken the annotation away again is how its
// answer is told from an older one.
//
// # What is rendered
//
// The [Renderer] returns the objects of all overlays, as Argo CD will apply them,
// and for each Application of the layout an object with the fields above. The
// receipt so names all that is delivered, and the hash of each.
//
// An overlay that Argo CD would render differently is refused ([ErrLayout]): a
// source with options of kustomize other than these, helm, a directory without a
// kustomization, or a plugin. So is a Job with the annotation pharos.dev/run-once:
// Argo CD does not know that it has run, and makes it again whenever it is gone.
//
// # What stands in the way
//
// [Deliverer.Deliver] looks before it writes, and refuses (lifecycle.ErrBlocked):
// an Application that belongs to an ApplicationSet, to another Application or to
// Flux, any of which would put it back; a project whose sync windows are closed,
// or that does not permit what the commit delivers; an operation of somebody else that does not end within Config.OperationWait,
// or that waits for the end of a window. An operation of the controller or of
// Pharos is ended if it failed and only waits to be tried again, since it would
// bring an earlier commit, and if it does not end by itself, since it would keep
// out the commit that mends what it waits for. One that is only said to run, since
// somebody took away the field operation, is forgotten.
// [Deliverer.Examine] finds the same without any write, before a delivery is
// recorded.
//
// A dry run, and [Deliverer.Compare], ask the cluster what a sync would make of
// each object, as Argo CD will bring it: what it would refuse is found then.
//
// # What does not succeed
//
// A sync that failed ends the wait, with all resources that did. While Argo CD
// tries it again, it does so where the message of a resource says that no try
// mends it: the project does not permit its kind, a field is immutable, it is
// invalid, admission refuses it. It is given a second try, or 15 seconds, since
// the project or a definition may have changed just now. An operation that waits
// for an object which is there no more is ended, once, so that the next one makes
// it again.
//
// # When it is live
//
// Of each Application, all must hold: its source is what was written, and what
// was compared; it is Synced at the commit; no operation runs, and the last one
// of this source succeeded; it was looked at since; it is Healthy, without an
// error among its conditions; and the digests run. What is there too much does
// not count against it: nothing is ever deleted, and it is listed as an orphan.
// Argo CD counts it in an Application's health, so where there is such, and the
// right to look, what the commit declares is judged by itself. Hooks of Argo
// CD are of the commit, and count neither in its health nor as orphans.
// A root that is healthy says nothing of its Applications; each of them is judged
// by itself.
//
// Where the policy is manual, [Deliverer.Wait] sets the operation, with the
// revision pinned and without pruning.
//
// # Rights
//
// In Argo CD's namespace:
//
//   - apiGroups: [argoproj.io]
//     resources: [applications]
//     verbs: [get, watch, patch]
//   - apiGroups: [argoproj.io]
//     resources: [appprojects]
//     verbs: [get]
//   - apiGroups: [""]
//     resources: [configmaps]
//     resourceNames: [argocd-cm]
//     verbs: [get]
//
// and, for reasons in the words of objects and pods, which are left out without
// it, list on what runs where it runs: see package apply. A right to patch an
// Application lets its holder deploy whatever its AppProject allows.
package argocd
