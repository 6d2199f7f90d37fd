// Package receipt says what was delivered to a target: the record that was
// asked for, what was seen of it afterwards, and the two pointers that say
// which record the target was last told and which it was last healthy at.
//
// # The record
//
// A [Record] names everything that a delivery consists of: the target and the
// UID of its cluster, the receipt before it, the commit and its tree, the
// catalogue, the renderer, each image by digest with the fingerprint that it
// was built from, the paths that the render read, and each object with the
// hash of what was applied. It holds no time and nobody's name, so delivering
// the same thing again is the same record.
//
// Its canonical bytes are its JSON in the form of RFC 8785 (JSON
// Canonicalization Scheme): no white space, fields in ascending order, strings
// in UTF-8 with the shortest escapes. Fields that are empty and optional are
// left out. Its [ID] is "sha256:" and the hexadecimal SHA-256 of these bytes.
// Stores keep the very bytes, so that a receipt can be checked without Pharos:
//
//	$ sha256sum record.json
//	60bdb12d…fc9035  record.json
//
// From the ConfigMaps of package kube, where a large record stands compressed:
//
//	$ kubectl -n pharos get configmap pharos-devbox.60bdb12d…fc9035 -o jsonpath='{.data.record\.json}' | sha256sum
//	$ kubectl -n pharos get configmap pharos-devbox.81b0de…4a1f77 -o jsonpath='{.binaryData.record\.json\.gz}' | base64 -d | gunzip | sha256sum
//
// A record that delivers the content of an earlier one again names that one as
// rollbackOf.
//
// These rules make one record have one encoding; [Record.Validate] checks them
// and reports everything that it finds at once:
//
//   - apiVersion is [APIVersion] and kind is [Kind]
//   - commit and tree are Git object IDs in full, 40 or 64 hexadecimal digits
//   - catalogue, fingerprint, digest and hash are "sha256:" and 64 hexadecimal
//     digits; every hexadecimal digit is lower-case
//   - images stand in the catalogue's order, no name twice; a repository has
//     neither tag nor digest
//   - platforms and reads are sorted in byte order, objects by group, kind,
//     namespace and name, each in byte order ([CompareObjects]); nothing is
//     there twice
//   - reads are clean, relative paths inside the tree
//   - every string is valid UTF-8
//
// [Parse] accepts canonical bytes only. Unknown and duplicate fields are
// errors, so that nothing can hide in a receipt.
//
// # A worked example
//
// The smallest record, whose JSON is shown here over several lines, has 372
// bytes without them:
//
//	{"apiVersion":"pharos.dev/v1alpha1",
//	"catalogue":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
//	"commit":"1111111111111111111111111111111111111111",
//	"kind":"Receipt",
//	"renderer":{"name":"kustomize","version":"v0.21.2"},
//	"target":{"clusterUID":"8f6a2a4e-3c1b-4a53-9d5e-0c8f3f1f2b10","name":"devbox"},
//	"tree":"4b825dc642cb6eb9a060e54bf8d69288fbee4904"}
//
// Its ID is
//
//	sha256:60bdb12d647de81eddfe7c27978c2eb409f919b182f926915b2c481249fc9035
//
// More of them, with their IDs, are in testdata/golden.
//
// # Outcomes and pointers
//
// A record never changes. What happened to it is appended beside it as an
// [Outcome]: that a delivery began, that the target was live or why it was not,
// that another receipt took its place, that Jobs which run once completed. It
// holds what was seen of each object and each [Application]. Outcomes have a time and an actor and
// are not part of the ID; each is kept as canonical JSON of its own.
//
// [Pointers] move by compare-and-swap: applied before the first change on the
// target, live when it was healthy at exactly that receipt. After a failed
// delivery they differ. Each record names as its parent the one that was applied
// before it, so that the ID of the applied one stands for the whole chain. Beside
// the pointers stands the first commit of the repository
// that the target belongs to, so that another one is noticed.
//
// # What is kept
//
// A store keeps what it was given until [Store.Delete] is called, which refuses what
// the pointers name. Which receipts are kept is for who calls it: package lifecycle
// keeps the newest, those before the applied and the live one that it needs, and what
// kept rollbacks repeat. So a chain ends where an older receipt was dropped, and its
// IDs go on naming what is gone.
//
// # Stores
//
// A [Store] keeps the receipts of one target. Package dir keeps them in a
// folder, package kube in ConfigMaps on the target itself; package receipttest
// is the suite that they, and any other implementation, have to pass. This
// package and dir link no Kubernetes code.
//
// # What it guarantees
//
// A record that [Store.Get] returns is the one that the ID names, byte for
// byte: what was changed in the store is reported as [ErrCorrupt]. The store's
// list, its outcomes and its pointers are only as trustworthy as those who may
// write to the store: what is to be true of a receipt is read from its record.
package receipt
