// Package watch tells when the files of a working tree have changed: those that a
// list of patterns of the catalogue chooses, and no others.
//
//	err := watch.Run(ctx, watch.Config{Root: root, Files: image.Inputs, Changed: func(c watch.Change) { … }})
//
// # The guarantee
//
// Run keeps what it has seen: the content's hash of each file, and a State, which
// is the hash of all of them. What is told is a State, and never an event: it was
// read after the events that led to it, so the last State that is told is that of
// the files as they are, once nobody writes any more. An event that changes no
// content, such as a touch, or an edit that was taken back, tells nothing. The
// first State is told when all is watched, so that nothing is missed in between.
//
// A burst of events is one Change: it is read when there was no event for
// Config.Quiet, and after Config.Longest in any case.
//
// # What counts
//
// A regular file counts with its content and whether it may be executed, a
// symbolic link with its target; it is not followed, since what it leads to has to
// be an input itself. Everything else counts for nothing. Nor do what .git folders
// hold, folders of which the patterns choose nothing, and what Git ignores
// (node_modules, .venv, __pycache__), because it is no part of the tree that an
// image is built from. Git is asked (git check-ignore); where there is no
// repository, or no git, nothing is ignored.
//
// Patterns are compared bytewise, and so are names: on a file system that does not
// heed case, the case that the folder lists counts.
//
// # Events and polling
//
// Events are those of inotify (Linux), kqueue (macOS, BSD) and
// ReadDirectoryChangesW (Windows), through github.com/fsnotify/fsnotify. One folder
// takes one watch, with kqueue each of its files takes one as well. Where events
// cannot be had, or not be trusted, the files are looked at every Config.Poll
// instead, of which Run tells (Change.Polling):
//
//   - the system has no watches left, or there are more than Config.Watches folders;
//     after Config.Again they are asked for anew;
//   - Root is on a network file system, or one of the host that a guest has
//     mounted (Linux: NFS, SMB, 9p, FUSE, VirtualBox), which tells nothing of what
//     others write. In WSL2 that is what is below /mnt; keep the working tree in
//     Linux's own file system there.
//
// What fails after the first Change, such as git, or a Root that is away for a while, is
// told (Change.Trouble) and tried again until it works, and then all that has changed
// meanwhile is told.
//
// When the system has lost events, everything is looked at again. That reads names
// and times; only files whose size, times or inode have changed are read again.
//
// Windows can run this package; what runs the program does not support it.
package watch
