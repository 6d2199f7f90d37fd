// Package kube keeps the receipts of a target on the target itself, in
// ConfigMaps of one namespace.
//
// # Layout
//
//	pharos-TARGET                    the pointers: data applied, live and repository
//	pharos-TARGET.HEX                a record, immutable
//	pharos-TARGET.HEX20.HASH         an outcome, immutable
//
// HEX are the digits of the receipt's ID, HEX20 its first 20, and HASH the
// first 32 of the SHA-256 of the ID and the outcome's canonical bytes, with a
// line feed between them. A target's name is a DNS label and has no dot, so that
// the names of several targets in one namespace never clash.
//
// Record and outcome stand as record.json and outcome.json in data, or where
// they have more than 128 KiB, compressed as record.json.gz and
// outcome.json.gz in binaryData. A ConfigMap holds 1 MiB: what has more when
// it is compressed is refused with receipt.ErrTooLarge, before anything is written.
// The hashes of the objects decide, since they cannot be compressed: a record of
// 5,000 objects and 10,000 paths has 1.6 MiB and takes 0.3 MiB, and 16,000 objects
// with 32,000 paths fit. Reading does not depend on how well a version of Pharos
// compressed: what counts is the content.
//
// The pointers always have applied, and repository, which is empty if it is not
// known: where one of them is missing, somebody removed it.
//
// Labels say whose receipts they are (pharos.dev/receipts-of), which part
// (pharos.dev/receipt-part: record, outcome or pointers) and of which receipt
// (pharos.dev/receipt: the first 40 digits). Annotations hold what a list
// shows, so that listing reads no record. An outcome is owned by its record:
// deleting a record removes its outcomes.
//
// # API calls
//
// Each method makes one call: Put creates the record and looks at what is
// there only if the name is taken; Get and Pointers read one object; Outcomes,
// Whole and List make one list request by labels, List for metadata only;
// SetPointers creates or patches one object, with the resourceVersion that was
// read before as its precondition. AddOutcome makes two: it looks for the
// record first. Delete makes two, for the pointers and for what there is of the
// receipt, and one for each object that it deletes, with the UID and the
// resourceVersion that it saw as preconditions.
//
// What the server could not do for now (429, 5xx, a broken connection) is tried
// again five times within about a second and a half. Repeating is safe:
// records and outcomes are named by their content, and a write of the pointers
// carries an ID of its own by which it is recognised afterwards.
//
// # Rights
//
//	apiVersion: rbac.authorization.k8s.io/v1
//	kind: Role
//	rules:
//	- apiGroups: [""]
//	  resources: [configmaps]
//	  verbs: [get, list, create, patch, delete]
//
// Delete is only for those who deliver; reading needs get and list.
//
// # Guarantees
//
// A receipt either is there in full or not at all, whenever a writer is killed.
// Get checks the content against the ID. Pointers that somebody damaged are
// reported as receipt.ErrCorrupt with the resourceVersion by which they can be
// replaced; a damaged outcome is said in its receipt's line of List.
//
// Outcomes come in the order of their creation as the server recorded it, which
// does not depend on the clocks of those who write them. ConfigMaps that are
// restored from a copy are created anew: those of one receipt have to be restored
// in the order of the time in their annotation pharos.dev/outcome.
package kube
