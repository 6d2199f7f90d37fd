// Package transport brings commits, and what a target builds from, to a Git server
// that its cluster can reach, as Git objects.
//
// # Commits of receipts
//
// [Remote.Publish] has the server keep the commit of a receipt under the reference
// refs/pharos/receipts/<digits>, the 64 hexadecimal digits of the receipt's ID. No
// branch has to have the commit. Whoever knows its ID can fetch it, if the server
// allows that, as git's own does for what a reference names:
//
//	git fetch URL <commit>
//	git fetch URL refs/pharos/receipts/<digits>
//
// The commit and its history are read from the checkout. A shallow clone can publish
// what is on top of commits that the server has; anything else is an
// [ErrIncomplete], and so is an object that the checkout lacks. [Remote.Bundle]
// writes the same to a file, for a server that cannot be reached from here.
//
// [Remote.Retain] removes the references of receipts that are dropped. The server's
// own garbage collection does the rest.
//
// # Inputs of images
//
// The pruned tree of an image (see package catalogue) becomes a commit that
// depends on the tree alone: no parents, and
//
//	tree <tree>
//	author Pharos <> 0 +0000
//	committer Pharos <> 0 +0000
//
//	The inputs of an image
//
// so that whoever has the tree knows the commit's ID. The reference
// refs/pharos/inputs/<tree> names it on the server. Plain git can check what it
// stands for:
//
//	git fetch URL refs/pharos/inputs/<tree>
//	git rev-parse FETCH_HEAD^{tree}
//
// Trees and commits have SHA-1 IDs or SHA-256 IDs, as the repository has that they
// come from; the server's repository must be of the same kind.
//
// # What is sent
//
// If the server has the reference with that commit, it is asked for it and nothing
// is sent. If not, git push sends the objects that the server lacks: those that are
// in none of the commits that its references name and that are known here, which
// are those of the checkout and those that were pushed from it before. Trees of a
// working directory with edits are sent as well as those of commits.
//
// Of a commit of a receipt that are the objects which no commit of the server's holds
// of which it descends: 13 for a commit of 7 files in 4 folders, none for the same
// commit again, 5 after an edit three folders deep (the tests count them).
//
// A reference with another commit is put right, but only if nobody changes it
// meanwhile.
//
// # Inputs that nobody needs
//
// Inputs are needed while a build runs, and by the next build of them, to send less.
// Which builds run now, on other targets and machines too, nobody knows. So Retain
// removes inputs that no kept receipt names in two steps. It first marks them with
//
//	refs/pharos/unused/<tree>/<time>
//
// and removes inputs and mark together, in one atomic push, a day after that.
// PushInputs, which every build begins with, removes the mark that it finds. Whichever
// of the two comes first, the other one's push fails, since both name what the mark
// was, and looks again. A build that runs when its inputs are marked ends before they
// are removed: the deadline of a Job is hours. Clocks may differ by as much.
//
// A server whose receive.advertiseAtomic is off keeps its inputs.
//
// # The git program
//
// The git program speaks the protocol, with the user's system-wide and global
// configuration, and of the checkout's what concerns credentials and connections
// (credential.*, http.*, url.*): proxies, certificates and credential helpers work
// as for git push. Nothing is asked at a terminal, no hook runs, and nothing is
// signed. A user name and a password in the address are not shown to other
// users of the machine: they are in no argument. Redirects are not followed, whatever
// is configured: git would send what http.extraHeader holds, which is how passwords
// and tokens are often given, to wherever the server points. When ctx ends, git and all that
// it started are killed.
//
// What the server cannot do for now is tried three times within some seconds.
//
// # What is kept
//
// In the Git folder of the checkout, or where Config.Folder says, the folder
// pharos/transport can be deleted at any time that no call is under way:
//
//	repository-<n>  a bare repository that borrows the checkout's objects; in it
//	                are the commits, the trees of directories of which a part was
//	                cut away, and edited files
//	tmp-*           what a call under way writes
//
// A call that is killed leaves temporary files only, which a later one removes when
// they are a day old. A repository of more than a quarter of a gigabyte is left for a
// new one, and removed when it was not used for a day.
package transport
