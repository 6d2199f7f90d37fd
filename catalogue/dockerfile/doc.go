// Package dockerfile says what a Dockerfile is built on and what it reads,
// without building anything: it parses with BuildKit's own parser, expands
// arguments with BuildKit's own lexer, and matches ignore rules with BuildKit's
// own matcher. Nothing is asked of a registry, a network or a machine: the
// answers follow from the Dockerfile, the recipe and the tree alone.
//
//	f, err := dockerfile.Parse("web/Dockerfile", content)
//	…
//	p, err := f.Plan(dockerfile.Options{Target: "prod", Args: args, Platform: "linux/arm64"})
//	…                           // p.Bases and p.Frontend must be pinned
//	r, err := p.Reads(ctx, tree) // r.Files must be among the inputs
//
// # What a target is built on
//
// A [Plan] looks at the stages that the target needs and at no other: the
// target, what its FROM names, and what COPY --from= and RUN --mount=from= name,
// and so on. Its bases are the references in them that are neither stages nor
// scratch.
//
//   - In FROM, a name is the last stage before it of that name, in lower case,
//     else an image. Behind from= it is the last stage of that name in the file,
//     in any case, and must stand before it; COPY takes a stage's number too.
//   - Arguments are expanded in FROM, with those that are declared before the
//     first FROM, and nowhere else in references. A given value counts before a
//     default. One that has no value is an error, unless the word says what to do
//     then, as ${V:-1} does; BuildKit would go on with nothing in its place.
//   - TARGETPLATFORM, TARGETOS, TARGETARCH, TARGETVARIANT, TARGETOSVERSION and
//     TARGETSTAGE follow from the options. BUILDPLATFORM, BUILDOS, BUILDARCH,
//     BUILDVARIANT and BUILDOSVERSION belong to the machine that builds: a
//     reference that depends on them is an error. FROM --platform=$BUILDPLATFORM
//     is not, as it chooses among the images that one reference stands for. A
//     value that is given for one of them counts without an ARG instruction.
//   - What ONBUILD holds counts for the stages of the same file that are built
//     FROM its stage.
//   - The frontend is the image that a syntax line names, in any form that
//     BuildKit knows, or the build argument BUILDKIT_SYNTAX.
//
// # What a target reads
//
// [Plan.Reads] lists the files of the build context, which is the whole tree,
// that COPY, ADD and RUN --mount=type=bind take. The ignore rules are those of
// the file beside the Dockerfile with its name and .dockerignore, else of
// .dockerignore at the root. As in BuildKit:
//
//   - In a source, *, ? and […] are those of [path.Match]; ** is more than * with
//     COPY --parents, in --exclude and in ignore rules only.
//   - A symbolic link that a source names, or that lies on its way, is followed,
//     within the tree; one inside a directory that is taken is taken as a link.
//   - A source never leads out of the tree: ../x is x.
//   - --exclude is for what a directory holds, not for a source itself.
//   - Arguments and variables are those of the stage and of the stages that it is
//     built on.
//
// In some cases a client sends less than these rules take, so that the build
// fails: it does not look for what a link leads to that only wildcards in a
// directory's name match, and takes a mount's source for a pattern. What the
// rules take is listed then.
//
// What RUN reads of a mounted directory cannot be told, so all of it counts. A
// tree object that is missing is an error, and so is a tree or a Dockerfile that
// stands for more than any build could use ([MaxSize], [MaxInstructions],
// [TooLargeError]).
//
// # What cannot be told
//
// These are known to the builder alone:
//
//   - which variables a base image sets: a source that may depend on one is in
//     [Reads.Unknown];
//   - what a base image's own ONBUILD instructions do: [Plan.Triggers] lists
//     those of a target that take files from elsewhere;
//   - what RUN fetches, and what ADD does: [Plan.Remote] lists what no checksum
//     pins;
//   - how another frontend reads the file: it is read as the Dockerfile frontend
//     of BuildKit v0.34 does;
//   - named contexts that are given to a builder to stand for images or stages.
package dockerfile
