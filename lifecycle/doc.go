// Package lifecycle holds the order of things: how a Git commit becomes what
// runs on a target, and the small interfaces that this needs.
//
// # A delivery
//
// [Lifecycle.Reconcile] takes a commit and a target and goes through these
// steps. An [Event] reports each one after its durable effect:
//
//  1. Read the catalogue at the commit and compute every image's fingerprint.
//  2. Read the target: the cluster's UID, the two pointers, the receipts they
//     name, the lease. Ask the registry for every image.
//  3. Decide: unchanged, deliver, or build and deliver. If the target is
//     unchanged, look at its objects for the proof, and end without a write.
//  4. Render once, so that mistakes show early: of the overlay, and of images that
//     are not for the nodes that their pods may be placed on. Build what the
//     registry does not have: all images, or none, each after those that it is
//     built on.
//  5. Acquire the target's lease, read the pointers again, and decide again if
//     they moved.
//  6. Render the commit with the images' digests, ask the registry for each of
//     them once more, and write the receipt, which is the record of what is asked
//     for.
//  7. Record the attempt and move the applied pointer. Only then
//  8. apply the objects, and wait until they are healthy at their newest
//     generation.
//  9. Record the outcome with what was seen, and move the live pointer.
//  10. Release the lease.
//
// [Lifecycle.Deploy] comes before the first of them: it prepares the target step by
// step, under the lease, records each step in a [Checkpoint], and then delivers.
// With a [Setup] in the configuration nothing is delivered to a target that was
// never prepared.
//
// [Lifecycle.Rollback] delivers what an earlier receipt asked for as a new one that
// says so. It builds nothing, asks the registry for every image and compares what
// the receipt's commit renders to with the objects of the receipt before it
// acquires the lease, and goes on from step 5.
//
// [Lifecycle.StartMaintenance] keeps everybody else from delivering until
// [Lifecycle.EndMaintenance] finds the target healthy and undrifted at the receipt
// that was applied last.
//
// # Guarantees
//
// A process may be killed between any two steps. Builds are found again by
// their fingerprint; a receipt is written idempotently, since its ID is the
// hash of its content; the applied pointer moves before the first object, so
// that it always names what may be on the target; the live pointer moves only
// after the evidence was recorded. The lease of a killed process ends by itself
// within half a minute. Running the same commit again ends right.
//
// The lease's fencing token is checked right before every write to the target.
//
// A target belongs to the repository that was deployed to it first, which is kept
// in the checkpoint, and beside the pointers once they are there. Another repository is refused, and so is a delivery to a
// target whose applied receipt or pointers cannot be read, until the request
// says Adopt: then nothing that they may have said is relied on.
//
// Jobs that run once are carried on from receipt to receipt: right after its
// attempt, before the applied pointer names it, the outcomes of a receipt name those
// of its Jobs that are known to have completed.
//
// A delivery deletes nothing: objects that earlier receipts named and this one
// does not are listed as orphans. Images that no receipt needs any more are deleted
// from the registry by [Lifecycle.DeleteImages] alone, for which somebody has to
// call it.
//
// # Parts
//
// The package imports no implementation. Builders are in lifecycle/build, the
// renderer in lifecycle/render, deliverers in lifecycle/deliver, the registry
// in lifecycle/registry; lifecycle/standard puts the usual set together.
package lifecycle
