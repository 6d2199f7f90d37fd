// Package argocd keeps Argo CD from syncing what a lease covers while it is held:
// it is a lease.Gate of sync windows.
//
//	gate, err := argocd.New(argocd.Config{REST: config, Applications: names})
//	manager, err := lease.New(lease.Config{REST: config, Namespace: "pharos", Target: "devbox", Gate: gate})
//
// # The window
//
// Each AppProject of the covered Applications gets one window:
//
//   - kind: deny
//     schedule: 59 11 30 11 *      # in the past, by a minute at least
//     duration: 26m7s              # so that it ends twice the grace after the lease, to the second
//     timeZone: UTC
//     manualSync: false
//     applications:
//   - api                        # the covered ones, by their names
//   - pharos.dev/lease=pharos/devbox/3/HOLDER/2026-11-30T12:25:07Z
//     description: "Pharos: borrowed by ann@laptop: try something"
//
// The last of its applications is its mark: the lease's namespace, target, token
// and holder, and when the window ends. No Application can be named so. The mark
// tells a window of a lease from everybody else's, also where the definition of
// AppProjects is too old for a description; and since a schedule has no year, it is
// what tells a window that was left over from one that is still good. A renewal
// moves the end; a lease's window that is not exactly as it was written, but for
// its description, is a lease that is lost.
//
// When the lease is over, the window is ended first: "lease-ended" in its mark,
// and a duration of no time, with which it denies nothing whatever the clock says.
// So it stands for what is still to be done, until all Applications are back. Who
// is killed at any point leaves a window by which the next Sweep goes on.
//
// Nobody else's window is touched, and no policy of an Application is: a project's
// spec is in the end what it was in the beginning. Every write is a JSON patch with
// the resource version and UID of what was read, which also tests what it replaces
// or removes. Windows of one project never have the same kind, schedule and
// duration: Argo CD before 3.2 would let nobody edit it.
//
// # What a lease stops, and what not
//
// While the window stands, Argo CD's controller neither syncs nor heals what is
// covered; argocd app sync and the UI refuse; an operation that is set on the
// Application itself is parked, and removed when the gate opens, since it would
// bring its own revision then. That holds for Pharos's own deliveries through this
// Argo CD, too.
//
// It does not stop:
//
//   - who edits the objects themselves with kubectl or a controller of their own;
//   - Argo CD's deletion of an Application with its resources;
//   - an Application above a covered one, which goes on writing the covered
//     Application's spec: cover it, too, if that is not wanted. Nothing of it
//     reaches the objects before the gate opens;
//   - who removes the window, moves an Application to another project, or declares
//     the windows of the project in Git. The next renewal finds out;
//   - a sync that the controller begins in the moment in which the window is
//     written. It is looked for after the window stands, and the window is taken
//     away again until that sync has ended, since it would stop half-way;
//   - a controller whose clock is more than a minute behind the API server's, until
//     its clock has come to the window's start. Its end is by that clock, too.
//
// # Handing back
//
// Nothing tells the controller that a window has ended, and not everything that
// was kept from it is made good by it. Open and Sweep ask it to look at each
// Application, and then:
//
//   - leave to it what it restores by itself: what it has not tried yet, and, with
//     self-heal, what it synced with success before;
//   - set a full sync at the revision that was compared, without pruning, where it
//     would not: self-heal is off, its last operation failed, or the policy is
//     manual and the last sync was at this revision;
//   - report what a person has to look at: a sync that fails, a manual policy at a
//     revision that nobody has synced, manifests that cannot be generated;
//   - leave for later what other people's windows close.
//
// An Application is settled when nothing in it differs from what is declared, as
// compared after the gate was opened. Whether it is healthy, at which commit, is
// for who has delivered it to ask. If a holder is gone and nothing sweeps, the
// window ends by itself, and the controller does of this what it does by itself, at
// its next look.
//
// # API calls
//
// Resolve, Close and Extend list the projects, and read each Application; Close
// also watches them, and writes each of them (a request to look) and each project.
// Extend writes the projects. Open and Sweep list the projects, and make no other
// call where there is no window for them.
//
// # Rights
//
// In Argo CD's namespace:
//
//	apiVersion: rbac.authorization.k8s.io/v1
//	kind: Role
//	rules:
//	- apiGroups: [argoproj.io]
//	  resources: [applications]
//	  verbs: [get, watch, patch]
//	- apiGroups: [argoproj.io]
//	  resources: [appprojects]
//	  verbs: [get, list, patch]
//
// and, where a covered Application's project has sourceNamespaces, list on
// applications in all namespaces: see [Gate.Resolve]. To patch an AppProject is a
// strong right: it also permits to edit its roles, and what the project allows to
// be deployed where. To patch an Application permits to deploy whatever its project
// allows.
package argocd
