// Package source reads Git trees: of commits, and of memory for tests and
// embedders. A tree is an ID and where its objects are read, so that whatever
// reads one works on any of them.
//
// # Trust
//
// Objects come from whoever made the repository. Every tree object is checked
// before its entries are used: [ErrMalformed] for names that are empty, ".",
// "..", ".git" in any case, or hold a slash or a NUL, for duplicates, wrong
// order and unknown modes. [Export] writes below one folder and nowhere else,
// and never through a symbolic link.
//
// # What is read
//
// [Repository] reads commits, trees and blobs straight from the object store and
// needs no git program, except for [Repository.Dirty]. It follows linked
// worktrees and alternates. Repositories whose object IDs are SHA-256 are
// refused with [ErrUnsupported].
package source
