// Package restore ends the session of a takeover in its holder's stead, from the session
// object alone: for a person at another machine, and for the controller.
//
//	r, err := restore.New(restore.Config{REST: config, Namespace: "pharos", Target: "devbox", Lease: leases, By: "ann@desk"})
//	report, err := r.Restore(ctx, restore.Request{Force: true, Reason: "his laptop is gone"})
//	err = r.Watch(ctx, restore.WatchConfig{}) // what the controller does
//
// # When
//
// A session is its holder's for as long as that has the lease of the target, and the
// grace after it. It is ended when that is over; when it is broken, which Force does; and
// when the holder has been silent for as long as the session allows, though its lease
// goes on. Where Argo CD delivers, Pass and Watch only look: self-heal puts back what
// Git declares when the lease's gate opens. When it has, they delete the session object.
//
// # How
//
//  1. It is written into the session object that it is being ended: see package journal.
//     The holder, if it comes back now, does not go on.
//  2. Each workload is put back as package divert says: only what is still the agent's,
//     only where the UID and the agent's digest are the session's, and only on
//     Deployments that bear the label of the target.
//  3. The session object is deleted, or, after a silence, says that it is done: it stays
//     for the holder until its lease is over, which may divert anew.
//
// Right before each write it is looked whether the session is still being ended. Every
// step can be repeated: who is killed is followed by whoever looks next, and two at once
// do no harm.
//
// # What cannot be read
//
// A session object that somebody has damaged, or that a later version has written, says
// nothing that is heeded: nothing is put back by it, and Pass returns the error. Restore
// with Force sets it aside, once nobody borrows the target any more: a copy stays. What
// was taken over is not known then, and delivering once more puts it back.
//
// # What this cannot prevent
//
// A write that waits on its way, after that look, until the holder has acquired the lease
// anew, has found that nothing was put back yet, and has gone on: then the workload is
// put back under it. Nothing is lost, and the holder sees its agents go. So a holder that
// finds an Ending puts the workloads back itself, and then diverts anew: a late write is
// for another generation, and does nothing.
//
// # API calls and rights
//
// A Pass costs one call where there is no session, and two where there is one. Ending a
// session costs two more, and seven for each workload.
//
//	rules: # in the namespace of the lease
//	- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get], resourceNames: [pharos-TARGET]}
//	- {apiGroups: [""], resources: [secrets], verbs: [get, patch, delete], resourceNames: [pharos-TARGET.takeover]}
//	rules: # in those of the workloads
//	- {apiGroups: [apps], resources: [deployments], verbs: [get, patch]}
//
// Whoever wants to know, too, that the target has come back needs the rights to look at it
// (lifecycle.Status). Force needs to update the lease, and to create Secrets where one cannot be read.
// Config.Others needs neither to patch the Secret nor the Deployments.
package restore
