// Package inventory says what is on a target, in three buckets, and what of that is
// not as it should be.
//
// Every object is put into its bucket first, by its own metadata and the names of what
// is declared, and only then compared with anything:
//
//   - Declared and durable: the objects of a [Declaration], such as a receipt's. Each
//     is found or missing, and drifted by field where whoever keeps the declaration
//     says so. What an earlier declaration had is an orphan.
//   - Undeclared and transient: what says that it ends (see package reaper), and what
//     is in a namespace that ends. That has no state that it should be in, so that it
//     never drifts: it is counted, with its age, its rate, and whether there are ever
//     more of it.
//   - Undeclared and durable: volumes and claims, also released ones, snapshots,
//     StatefulSets, and custom resources such as databases, that nobody declares and
//     that do not end, and what is labelled retained. Each has an owner, its age and
//     size, or is a finding.
//
// Left out is what ends with its owner, what is Kubernetes's own or Pharos's. What
// other tools declare, and what nobody declares and is of no durable kind, is counted.
//
// # What cannot be read
//
// The report has what could be read, and lists the rest as coverage: a resource whose
// list is forbidden, a group whose server does not answer. Nothing is missing or absent
// because it could not be listed. Secrets, Events and Endpoints are never listed; a
// declared Secret is looked for by name.
//
// # Trends
//
// One reading tells of no trend. Where [Samples] are kept, the slope is the median of
// the slopes between all pairs of them, which a few odd readings do not move.
package inventory
