// Package sweep reaches the ends that package reaper decides about: of one object
// ([Ender.End]), of all that are past theirs ([Ender.Pass]), and of each when its time
// comes ([Sweeper]).
//
// # The last step
//
// Whatever found that an object is past its end, the same function ends it:
//
//  1. It reads the object's metadata anew. Another object of this name, by its UID, is
//     not the one that was meant.
//  2. [reaper.Rules.Decide] decides, by the API server's clock.
//  3. For a Namespace it looks at everything in it that could outlive it, see
//     [reaper.Outlives]. What cannot be looked at, because discovery of its group
//     failed or listing it is forbidden, is never taken for absent: the namespace
//     stays and is reported. Nor is what an API server does not list that does not say
//     that it is ready. A list that fails over and over while the API server answers
//     keeps the namespace, too. Then it marks the namespace (pharos.dev/ending), and looks
//     again.
//  4. It deletes with the UID and the resourceVersion that it has decided by as
//     preconditions, and background propagation. On a conflict it begins again.
//
// A dry run takes the same steps up to the mark and the deletion.
//
// An object that is being deleted already is never deleted again, and no finalizer is
// ever removed: it is reported when it is stuck.
//
// # What is left of the race
//
// Kubernetes has no deletion of a namespace that holds only if nothing was created in
// it. What is created after its kind was listed in the second look goes with the
// namespace: some milliseconds for what is most precious, which is listed last, such as
// snapshots, and up to the whole of that look for pods and the like. What changes the Namespace object itself in between, a
// longer TTL or another intent, is safe.
//
// # Rights
//
// For each resource that is swept:
//
//   - {apiGroups: [GROUP], resources: [RESOURCE], verbs: [list, get, delete]}
//
// and GET of the URLs /readyz, /api and /apis, which Kubernetes gives to whoever is
// authenticated (the ClusterRole system:discovery); without it nothing is swept.
//
// It takes in addition watch for a [Sweeper], patch for Config.NotifyBefore, which leaves a
// note on the objects that were warned of, and create for events of events.k8s.io for
// that and Config.Events. To end namespaces it takes patch for namespaces, which are
// marked, and list for everything that can be in them, Secrets included: only
// metadata is read, but Kubernetes has no right for just that. Resources that are in
// Config.Unseen are not looked at, and keep no namespace, whatever they say.
//
// # All the time
//
// A Sweeper has one watch of metadata for each resource, chosen by label, and keeps no
// more of an object than its name, UID and deadline, in a heap. At the deadline the last
// step begins with what the API server says then, so that a watch that lags or has
// stopped can only make an end late. A resource that cannot be watched is a gap of its
// State; it is tried again, and the others go on. Resources that come and go are
// noticed by asking discovery now and then.
//
// # Everything can be killed
//
// Nothing that counts is only in memory. A process that is killed leaves objects that
// are still to end, or a mark on a namespace that the next run looks at anew.
package sweep
