// Package takeover runs the edits of a working tree on a workstation, in place of the
// workloads that they belong to and with the traffic of these, and returns everything
// as it was.
//
// # The plan
//
// [Read] reads what a plan depends on, and [Select] makes the [Plan] of it: a pure
// function, which is all that a dry run needs.
//
//	facts, err := takeover.Read(ctx, takeover.Source{Lifecycle: l, REST: config, Repository: repo, Tree: tree})
//	plan := takeover.Select(facts)
//	err = plan.Err()
//
// The images whose fingerprints differ between the working tree and the target's live
// receipt are looked for in what the receipt's commit renders to. The Deployments that
// use them are taken over, one container of each. Names narrow that, or add to it.
//
// A plan has all that stands in its way, and not only the first of it:
//
//   - a target of which the applied receipt is not the live one, or cannot be read
//   - edits that reach a target only by being delivered, and those that no pattern
//     knows: a workstation cannot show them
//   - an image that does not say how it runs (run), has no fingerprint, or that no
//     workload uses
//   - workloads of other kinds, what belongs to an operator, an initContainer whose
//     image changed, two containers of one pod
//   - a Deployment that is not on the target, is paused, or that today's renderer would
//     declare otherwise than it was delivered
//   - a Deployment that nothing would put back: neither does its Application of Argo CD
//     heal itself, after a last operation that succeeded, nor does a controller run
//
// It warns of what is done and shows less than it may seem: a changed base or recipe,
// the strategy Recreate, no replicas, something that scales the Deployment.
package takeover
