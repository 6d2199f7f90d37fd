// Package catalogue decides what has changed: which images are built from which
// files of a Git tree, and what a change of a path asks for. It reads trees and
// nothing else: no clock, no network, no machine's settings, no file outside of
// the tree. Everyone who has the tree computes the same answers.
//
// A [Catalogue] is what a tree's pharos.yaml says; [Load] reads it from the same
// tree as everything else, so that a commit is judged by its own. For each image
// [Catalogue.States] gives its inputs, cut out of the tree, and its
// [Fingerprint]. [Classify] says what the difference between two trees asks for,
// and [Check] looks for mistakes.
//
// # Format
//
// pharos.yaml, at the root of the tree, holds one document of kind Catalogue:
//
//	apiVersion: pharos.dev/v1alpha1
//	kind: Catalogue
//	images:
//	- name: api
//	  build: {go: {package: ./services/api}}
//	  inputs: [services/api, libs, go.mod, go.sum, "!**/*_test.go"]
//	- name: site
//	  build: {files: {from: site/public, root: /srv}}
//	  inputs: [site/public/**]
//	  platforms: [linux/amd64, linux/arm64]
//	delivery: [gitops/**, pharos.yaml]
//	neutral: ["**/*.md", docs/**]
//
// It is strict: a field that is unknown or stands twice is an error, and all
// errors are reported at once with file, line and field. See [Image], [GoBuild],
// [DockerfileBuild] and [FilesBuild] for the fields and their defaults.
//
// # Lock
//
// What an image is built on is named by references: the base of a Go program;
// those of a Dockerfile's FROM, COPY --from and RUN --mount=from, with its
// arguments expanded, as far as the target needs them; and the frontend of its
// "# syntax" line. A reference stands for the first of these that holds:
//
//   - the digest in it, as in alpine@sha256:…
//   - the image of the catalogue that has exactly this name
//   - the digest that pharos.lock holds for the reference, as it is written
//
// If nothing holds, the image has no fingerprint ([UnlockedError]): a tag may
// name another image tomorrow, and nothing in the tree would show it. An image
// that is built on one without a fingerprint has none ([DependencyError]), nor
// has one that is built on itself ([CycleError]).
//
// pharos.lock, at the root of the tree and committed with it, holds one strict
// document of kind Lock:
//
//	apiVersion: pharos.dev/v1alpha1
//	kind: Lock
//	images:
//	  "alpine:3": "sha256:de4fe7064d8f98419ea6b49190df1abbf43450c1702eeb864fe9ced453c1cc5f"
//	  "docker/dockerfile:1": "sha256:2780b5c3bab67f1f76c781860de469442999ed1a0d7992a5efdf2cffc0e3d769"
//
// The digests are those of image indexes, which are the same for all platforms.
// [Catalogue.References] says which references it has to hold, [LoadLock] reads
// it and [Lock.Marshal] writes it.
//
// # Patterns
//
// inputs, delivery and neutral are lists of patterns that choose files by their
// path from the root of the tree.
//
//   - A pattern is divided into segments by slashes, as a path is. It matches a
//     path whose first segments its own segments match, one by one: a pattern
//     that names a directory means all below it.
//   - Within a segment, * stands for any number of bytes, ? for one byte, and
//     […] for one byte among those listed: [abc], ranges as in [a-z], and those
//     not listed as in [!a-z] or [^a-z]. Within brackets only ASCII characters
//     may stand, and - and [ only behind a backslash. A leading dot is a
//     character like any other.
//   - A segment that is ** stands for any number of segments, or none; at the
//     end of a pattern for at least one: a/** is all inside of a. Nowhere else
//     may ** stand.
//   - A backslash takes from the character that follows it what it means.
//   - A pattern that begins with ! excludes what the rest of it matches. The
//     last pattern of the list that matches a path decides, so a later one may
//     include again what was excluded. What no pattern matches is not chosen.
//   - Comparison is bytewise and heeds case. A pattern neither begins nor ends
//     with a slash, and has no segment that is empty, "." or "..".
//
// [Patterns] is the one matcher for inputs, builds and classes.
//
// # Pruned trees
//
// An image's inputs are the tree with everything cut away that its patterns do
// not choose: a Git tree too, of the same modes and contents, without
// directories that hold nothing. Its ID is the one that git computes for it, so
// it can be checked with git alone. For inputs [services/api, go.mod]:
//
//	export GIT_INDEX_FILE=$(mktemp -u)
//	git ls-tree -r -z HEAD -- services/api go.mod | git update-index -z --index-info
//	git write-tree
//
// A directory that is chosen as a whole keeps its ID and is not written anew. So
// where another program than git wrote it, with a mode such as 100664, the ID is
// not the one that git computes from the files, and changes when git writes the
// directory; what is built is the same.
// The pruned tree is all that a build may read, so what cannot be built in is
// refused:
//
//   - A symbolic link stays a link, and must lead to something among the inputs
//     ([SymlinkError]).
//   - A submodule cannot be an input, nor hold one ([SubmoduleError]): a tree has
//     the commit that it stands for, and never the files. To Classify, a change
//     of that commit is one of the inputs that the submodule may hold.
//   - A file that is a Git LFS pointer, where a .gitattributes of the tree sends
//     the file through Git LFS: in its directory or one above it, whether that
//     is an input or not ([LFSError]). Only then is a file looked into, so that
//     no other costs anything. A pointer that no .gitattributes announces is
//     refused when it is exported for a build.
//   - Nothing at all ([ErrEmpty]).
//
// # Limits
//
// A few kilobytes of Git trees that hold each other can stand for more files
// than any disk holds. Whatever walks a tree refuses one that is
// ([TooLargeError]):
//
//	2,097,152 entries      files and directories looked at: for one image, by
//	                       Check, or on either side of Classify
//	8,388,608 entries      of directories that the patterns of all images divide
//	8,589,934,592 steps    of holding a pattern against a name, for all images;
//	                       long patterns and names take more than one
//	4,096 images           in a catalogue
//	4,096 bytes            of a pattern
//	4,194,304 names        looked up to follow one image's symbolic links
//	1,000 links            and submodules of an image that are reported, and as
//	                       many Git LFS pointers
//	4,096 bytes            of a directory's path, or of a symbolic link's target
//	40 links               on the way of one, as on Linux
//
// Patterns that exclude a directory keep its files out of the count. A tree's own
// size counts, not what happens to be known of it: it is refused everywhere, or
// nowhere.
//
// # Fingerprints
//
// A fingerprint is "sha256:" and the hexadecimal SHA-256 of these bytes: the
// line "pharos.fingerprint/v1", then one line for each field, sorted bytewise by
// key; no key stands twice. A field's line is its key and its value, each as a
// netstring (the length in bytes, in decimal, a colon, the bytes, a comma).
// Every line ends with a newline; a value may hold further ones. The fields are:
//
//	builder                   "go", "dockerfile" or "files"
//	builder.version           GoBuilderVersion, DockerfileBuilderVersion or
//	                          FilesBuilderVersion
//	platform.NNNN             the platforms, sorted
//	tree                      the ID of the pruned tree
//	go.package                the package's folder from the root of the tree,
//	                          without "./"
//	go.toolchain              the declared toolchain, see GoToolchain
//	go.base                   the digest of the base image, "sha256:…", or
//	                          "scratch"
//	go.image                  instead of go.base, the fingerprint of the base if
//	                          that is an image of the catalogue
//	go.ldflags.NNNN           the linker's arguments, in order; templates as they
//	                          are written, here and in the tags
//	go.tags.NNNN              the build tags, sorted
//	go.env.NAME               the environment
//	go.assets.NNNN            the assets, sorted
//	dockerfile.path           the Dockerfile's path from the root of the tree
//	dockerfile.target         the stage, empty for the default
//	dockerfile.args.NAME      the build arguments
//	dockerfile.secrets.NNNN   the ids of the secrets, sorted: never what they hold
//	dockerfile.ssh.NNNN       the ids of the SSH agents, sorted
//	dockerfile.frontend       the frontend's digest, if a "# syntax" line or the
//	                          build argument BUILDKIT_SYNTAX names one
//	dockerfile.frontendImage  instead of it, a fingerprint as with go.image
//	dockerfile.base.NNNN      the digests of what it is built on, in the order
//	                          of first use
//	dockerfile.image.NNNN     instead of one of them, a fingerprint as with
//	                          go.image; they are counted together
//	files.from                the folder from the root of the tree
//	files.root                the folder in the image, absolute
//	files.mediaType           the layer's media type, empty for the default
//
// NNNN counts from 0000, in at least four digits. Where a Dockerfile is built on
// other images for one platform than for another, the platform stands before it:
// dockerfile.base.linux/arm64.0000. The fields of another builder, and those of
// an empty list, are left out; the others are always there. No image's name,
// machine's path, time or branch is among them. By hand:
//
//	printf '%s\n' 'pharos.fingerprint/v1' \
//	  '7:builder,5:files,' \
//	  '15:builder.version,1:1,' \
//	  '10:files.from,11:site/public,' \
//	  '15:files.mediaType,0:,' \
//	  '10:files.root,4:/srv,' \
//	  '13:platform.0000,11:linux/amd64,' \
//	  '4:tree,40:a434734c0a228260e7f7c77aa2ffa3b605898cc0,' | sha256sum
//
// prints
//
//	4ff76974d701a52dd132c1ee679d5946ae90096594b7e2b166e802498ae7e23d
//
// With git, sha256sum and a digest from pharos.lock, for a Dockerfile that has
// "# syntax=docker/dockerfile:1" and "FROM alpine:3", and the inputs [web]:
//
//	field() { printf '%s:%s,%s:%s,\n' "$(printf %s "$1" | wc -c)" "$1" "$(printf %s "$2" | wc -c)" "$2"; }
//	locked() { sed -n "s|^  \"$1\": \"\(.*\)\"$|\1|p" pharos.lock; }
//	export GIT_INDEX_FILE=$(mktemp -u)
//	git ls-tree -r -z HEAD -- web | git update-index -z --index-info
//	{
//	  echo pharos.fingerprint/v1
//	  field builder dockerfile
//	  field builder.version 1
//	  field dockerfile.base.0000 "$(locked alpine:3)"
//	  field dockerfile.frontend "$(locked docker/dockerfile:1)"
//	  field dockerfile.path web/Dockerfile
//	  field dockerfile.target ''
//	  field platform.0000 linux/amd64
//	  field tree "$(git write-tree)"
//	} | sha256sum
//
// Where a base is kept is no part of what it is: a mirror changes nothing. The
// ID of a base that is an image of the catalogue is not known before it is
// built, and need not be: its fingerprint stands for all that can reach it.
// Another encoding, or another meaning of a field, has another first line.
//
// # Classes
//
// A path that differs between two trees has, in one of their catalogues, the
// first of these classes that holds:
//
//	build     it is an input of an image
//	deliver   delivery chooses it, the last render read it, or it is pharos.yaml
//	          or pharos.lock
//	neutral   neutral chooses it
//	unknown   nothing does
//
// Both trees' catalogues are asked, and the answer that comes first in build,
// deliver, unknown, neutral counts. If the old one cannot be read, what is
// neutral in the new one is unknown. A rename is a path that went and one that
// came; a changed mode or type is a change. A change of an unknown path is
// delivered as well: only a path that is declared neutral changes nothing.
//
// # Cache
//
// What a list of patterns leaves of a directory follows from the directory's ID,
// its path and the patterns: which files, of which modes, links and attributes they
// are, down to the last one, is in the ID. So it need not be computed again for the
// next tree, of which most directories are the same. [Cached] puts a [Cache] beside
// a tree; it is asked about
//
//	a directory      what the patterns leave of it, and what that took of the limits
//	a pruned tree    whether its links lead to something in it, whether it is free of
//	                 Git LFS pointers, and what its recipe is built with and on
//	a pharos.yaml    what it says
//
// Only what is right is kept, and no error. A question has in it all that the answer
// depends on: the program that answers (its modules, and the sources of this
// package), the path, the patterns, the recipe; an answer says of which Git ID it is.
// A slot holds the answers for the last two IDs, so that a cache grows with the tree
// and not with the history. The package itself keeps nothing.
package catalogue
