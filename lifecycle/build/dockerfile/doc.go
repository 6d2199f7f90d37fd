// Package dockerfile builds images of Dockerfiles by BuildKit.
//
// There is one code path: [Builder] reads the Dockerfile, says what BuildKit is
// to do ([Solve]), hands that to a [Backend], and asks the registry for what came
// of it. The backends differ in how BuildKit is reached, and in nothing else:
//
//   - [Address]: a buildkitd at tcp:// or unix://, which pushes by itself
//   - [Runner]: a buildkitd that cannot reach the registry; the image comes here as
//     an OCI layout, every digest of it is computed anew, and it is published from
//     here
//   - package job: a Job in the cluster
//
// # The context
//
// The context of a build is the root of the pruned tree, and nothing else: the
// Dockerfile, its ignore file and all that COPY takes lie in it. It is written
// nowhere; BuildKit is shown the files with their sizes, and asks for those that
// it does not have from an earlier build of the image. All are owned by root, and
// have the modes 0644 or 0755. BuildKit takes a file of the same path, size and
// time for the same one, so a file's time is made of the ID of its content. It lies
// in the day after 2 January 1980, or after SOURCE_DATE_EPOCH if that is later.
//
// What the Dockerfile takes and the inputs do not hold ends in a
// *[lifecycle.BuildError] that names the path and the pattern that would declare
// it: before BuildKit is asked, where the Dockerfile alone shows it, and else by
// what BuildKit says. A pattern or a folder of which only some files are left
// out is not missed here; package catalogue/inputs finds those.
//
// ADD of an address needs a checksum, or a Git commit's ID: else the image could
// change while its inputs do not. RUN may not ask for the machine's network, or
// for all its privileges.
//
// Cache mounts are those of one repository: images do not find what others left
// in theirs, unless a recipe's arguments give them the same
// BUILDKIT_CACHE_MOUNT_NS.
//
// # Images by digest
//
// The images that a Dockerfile names, in FROM, COPY --from, RUN --mount=from and
// its syntax line, are those of the recipe, of pharos.lock, or of the catalogue,
// by digest. They are forced twice. Named contexts (the options context:NAME)
// give them to the Dockerfile frontend; where a stage has the name of its base
// there can be none, since it would stand for the stage. And a source policy turns
// their references into those by digest in BuildKit itself, and refuses every
// other image without a digest: one that an ONBUILD instruction of a base names,
// or another frontend's own syntax. So a tag that moves changes nothing.
//
// # Secrets
//
// A recipe declares secrets and SSH agents by id. Their values go through the
// connection to BuildKit when a step mounts them, and are in no argument, log,
// fingerprint, cache key or error; what the build prints is searched for them. One that is
// declared and not there, or mounted and not declared, is an error before the
// build: BuildKit itself would go on without it. Credentials for registries go the
// same way, for the registries of the image and of its bases only.
//
// # The image
//
// The result is an OCI index, for one platform too, annotated with its
// fingerprint and with the version of BuildKit, and tagged as package registry
// says. Its digest is BuildKit's own answer. There are no attestations: they hold
// times.
//
// Times are set to the epoch, in layers and configurations, unless the recipe
// gives another SOURCE_DATE_EPOCH: seconds since 1970, and not in the future. So the same inputs give the same bytes, from
// any state of BuildKit's cache, if
//
//   - BuildKit is of the same version, and the Dockerfile frontend with it
//   - what RUN runs does the same each time: it reads neither the clock, the
//     network, the times of folders, nor what it finds of the machine
//   - the layers are not reused from a cache that an older BuildKit filled
//
// COPY and ADD of the context alone satisfy that always. Nothing else is
// promised: RUN may do what it likes, and then two builds of one fingerprint
// have two digests, either of which is right. The one that the registry has is used.
//
// # Failures
//
// What the commit is to blame for is a *[lifecycle.BuildError] with the line of the
// Dockerfile and the end of what the step printed. A BuildKit or a registry that
// cannot be reached, or goes away, is a *[lifecycle.Error] that matches
// [lifecycle.ErrUnreachable]; the next build goes on with what BuildKit's cache
// holds. A full disk there, or too little memory, is one of no class. When ctx
// ends, the build is ended in BuildKit too.
//
// A runner's build has one private folder in [RunnerConfig].TempDir, named
// "pharos-runner-" and a random number, which is removed when the build ends. If
// the process is killed, the next build in the same TempDir removes it.
package dockerfile
