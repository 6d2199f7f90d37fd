// Package argo holds what Pharos knows of Argo CD: small types for the fields
// that it reads of Applications and AppProjects, a client for them, and the rule
// that says when an exact commit is live. Argo CD's own types cannot be imported
// without the replacements of its go.mod.
//
// # This exact commit is live and healthy
//
// [Judge] looks at one Application object and at nothing else. All of this must
// hold for [Live]:
//
//  1. spec.source (or spec.sources) is what was written.
//  2. status.sync.comparedTo has the same, images and patches included.
//  3. It is Synced, and status.sync.revision(s) are the commit. What is there
//     too much, and would only have to be pruned, does not count against it: a
//     delivery deletes nothing. It is listed ([Verdict.Orphans]).
//  4. No operation is set or runs, and the last one of this source succeeded. A
//     commit without a difference needs none. One of an earlier source, or one
//     that ended before the write, says nothing.
//  5. No refresh is asked for and unanswered, and status.reconciledAt is not
//     before the end of the operation.
//  6. It is Healthy, and reports no ComparisonError, InvalidSpecError, SyncError
//     or UnknownError.
//  7. Each image that its source sets by digest is among status.summary.images,
//     unless no pod of that repository runs at all.
//
// A healthy Application says nothing of Applications that are among its
// resources: each is judged by itself.
//
// The rule is a function of the object, so it can be tried on any status: it
// never panics, whatever stands there.
package argo
