// Package worktree reads what lies in a working directory, committed or not, as
// a Git tree: the one that
//
//	git add -A && git write-tree
//
// would make, and git commit then records. What is edited and what is committed
// thus have one ID, and whoever reads trees, such as package catalogue, need not
// know which it is.
//
// The user's index, objects, references and files are read and not written, no
// hook runs, no file system monitor is asked, and nothing is fetched. Only the
// times of objects, packs and the shared part of a split index may become those
// of the call: git marks so what it would have written, lest git gc remove it.
// Git commands may run at the same time, hold the lock of the index, or collect
// garbage.
//
// # What is in the tree
//
// Git decides: what is ignored, which filters and line endings apply, what the
// index says of modes and links where core.fileMode or core.symlinks is false,
// what is sparse. It is asked for the user's index as it is now, not for one of
// an earlier call: a file that was new then, and is ignored now, is not in the
// tree. In particular:
//
//   - Of what is staged and then edited or deleted, the file counts.
//   - A submodule counts by the commit that is checked out in it, whatever is
//     edited there.
//   - Files that are marked assume-unchanged or skip-worktree count as in the
//     index.
//   - In a sparse checkout, what is not checked out counts as in the index. Git
//     leaves out edits of tracked files there, which is logged, and refuses new
//     ones, as git add does.
//
// Some of what git add does is hardly ever meant, and makes a tree that depends
// on the machine or that nothing can be built from. It is refused, with all
// paths: [ErrUnmerged], [ErrNested], [ErrUnreadable], [ErrFilter], and files
// larger than Config.MaxFile.
//
// A tree is no picture of one moment. Each file is in it as it was at some time
// during the call.
//
// # How
//
// git status compares HEAD, a private copy of the index, and the tracked files,
// while git ls-files looks for others. What they do not list is as in HEAD. Of the
// files that they list as edited or new, those that are not known from an earlier
// call are given to git update-index with an index of their own, so that filters
// apply and objects are written to a private folder; where the rest of the index
// matters (sparse checkouts, names that differ by case, attributes that are only
// in the index), to git add -A with a copy of it. Trees are made in memory.
//
// A file is known if its size, times, mode and number are what they were, its
// index entry, the .gitattributes above it and the configuration too, and if it
// was not changed in the last two seconds before it was read: a file system's
// clock may not tell two changes in that time apart. A program that is a clean
// filter is taken to do the same as long as its name does, as git takes it. What
// git has found to be as in the index it does not look into again because a
// .gitattributes changes that is itself ignored.
//
// # What is kept
//
// In the Git folder of the checkout, that of a linked worktree being its own, the
// folder pharos/worktree can be deleted at any time that no call is under way:
//
//	index-<hex>-<hex>  a copy of the user's index, with newer times of files; it
//	                   is taken as long as configuration and attributes stay
//	store-<n>/objects  what was hashed; borrows the repository's objects
//	store-<n>/cache    which files are known
//	tmp-*              what a call under way writes
//
// A call that is killed leaves only the last of these, to be removed a day later.
// A store with more than half a gigabyte that is not in use is left for a new
// one and removed a day later: for so long can a tree be read.
package worktree
