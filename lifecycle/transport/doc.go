// Package transport brings what a target builds from to a Git server that its
// cluster can reach, as Git objects.
//
// # The form
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
// A reference with another commit is put right, but only if nobody changes it
// meanwhile. References are not removed: a server forgets inputs that nobody builds
// any more when somebody deletes them there (git push URL --delete
// refs/pharos/inputs/<tree>), and gets them again when they are needed.
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
