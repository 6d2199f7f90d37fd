// Package source reads Git trees: of commits, and of memory for tests and
// embedders. A tree is an ID and where its objects are read ([Objects]), so that
// whatever reads one works on any of them.
//
// # Objects
//
// The formats are Git's own: a tree object is a sequence of
//
//	<mode in octal> SP <name> NUL <binary object ID>
//
// sorted bytewise by name, a directory as if its name ended with a slash; the ID
// of an object is the hash of
//
//	<"blob" or "tree"> SP <size in decimal> NUL <content>
//
// so that an ID of this package can be checked with git cat-file, git ls-tree
// and git hash-object. The working tree, its filters and its line endings play
// no part: what is read is what was committed.
//
// # Trust
//
// Objects come from whoever made the repository. Those of a [Repository] are held
// against their ID ([ErrCorrupt]), and every tree object is checked before its
// entries are used ([ErrMalformed]): for names that are empty, ".", "..", ".git"
// as any file system spells it, or hold a slash or a NUL, for duplicates, wrong
// order and unknown modes. What files say of sizes and places is held against the
// files, and chains of deltas are bounded. The size of a blob is known before it
// is read, and large ones are read piece by piece; if one is a delta, its base is
// unpacked into a temporary file. [Export] writes below one folder and nowhere
// else, and never through a symbolic link; it refuses what it could not write as
// it is meant.
//
// # Repositories
//
// [Repository] reads commits, trees and blobs straight from the object store and
// needs no git program, except for [Repository.Dirty]. Object IDs may be SHA-1
// or SHA-256. What it costs to read an object depends neither on the length of
// the history nor on the size of the packs: their indexes and multi-pack-indexes
// are searched where they lie, and nothing is loaded beforehand. It follows
// linked worktrees, submodules and alternates, and reads shallow and partial
// clones as far as they go, without asking the network. It does not read
// replacements (refs/replace) and grafts: a commit is what its ID says.
// Repositories whose references are not files (reftable) are refused with
// [ErrUnsupported]. Git may repack and prune meanwhile: what is not found is
// looked for once more.
//
// A revision is what gitrevisions(7) says, of these forms:
//
//	master, heads/master, refs/heads/master   a branch; so for tags and remotes
//	v1.2                                      a tag, annotated or not
//	HEAD, @, FETCH_HEAD                       what is checked out, was fetched
//	dae86e1950b1277e545cee180551750029cfe735  a commit's ID
//	dae86e, v1.2-4-gdae86e                    the same abbreviated, one only; of git describe
//	REV~, REV~3, REV^, REV^2, REV^{commit}    its parents; itself
package source
