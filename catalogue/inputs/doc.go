// Package inputs compares what the recipes of a catalogue read of a tree with the
// inputs that it declares for them.
//
// A build sees declared inputs only, so most mistakes end a build. Some do not:
// COPY of a folder takes what is there, an embedding pattern matches fewer files,
// a source file that a build constraint chooses is missing without anybody
// noticing. [Check] finds these beforehand, and says which pattern would declare
// what is left out; and it finds patterns of which the recipe reads nothing, and
// build arguments that no Dockerfile declares, so that the image is built again
// for changes that cannot reach it.
//
// # What a recipe reads
//
//   - Go: the files that package gopackage finds, for each platform: sources,
//     embedded files, go.mod and go.sum, workspaces, vendored modules, assets. Test
//     files are not among them. The go command is needed for this.
//   - Dockerfile: the Dockerfile, its ignore file, and what COPY, ADD and bind
//     mounts of the stages that the target needs take, for each platform, as
//     package dockerfile finds it. What a pattern with "!" excludes was left out
//     on purpose and is not reported, unless the build fails without it, or it is
//     an ignore file without which more would be taken.
//   - files: all below its folder. What of it is an input is for the catalogue to
//     say, so nothing counts as left out. What the builder would refuse of them is
//     reported.
//
// Where it cannot be known what is read, patterns are not said to be unread.
package inputs
