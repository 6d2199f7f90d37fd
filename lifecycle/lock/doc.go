// Package lock keeps a repository's pharos.lock, which says what the tags stand
// for that its images are built on.
//
// A recipe may name a base or a Dockerfile frontend by a tag, "alpine:3". What
// that is may change at any time, so it is no part of a tree, and no fingerprint
// could be computed from it. pharos.lock, at the root of the tree and committed,
// holds its digest; the format is that of [catalogue.Lock]. Whoever has the tree
// then builds on the same images, and a tag that moves changes nothing until
// somebody commits the new digest.
//
// # What is asked, and when
//
// [Compare] lists the references of a tree, as [catalogue.Catalogue.References]
// does, and compares them with its lock. What the lock holds is not asked for
// again, unless [Options] say so: an entry that is there stands until somebody
// wants it moved. Registries are asked in parallel, each reference on its own,
// and all failures are reported together. [Report.Lock] is the lock as it should
// be, and [Report.Write] makes it so in a checkout.
//
// # Platforms
//
// A base of a Go image must be there for every platform of the image, or the
// reference fails. A stage of a Dockerfile may run on the machine that builds
// instead of the image's platforms, and a frontend does; what is not there for
// them is in [Entry].Lacks, and the build decides.
//
// # Guarantees
//
// The lock is written only if every reference that had to be asked for was
// answered: after a partial failure the file is what it was. It is replaced in
// one step, which is flushed to the disk. It is not replaced if it is no longer
// what was compared ([ErrChanged]). The same entries are always the same bytes.
package lock
