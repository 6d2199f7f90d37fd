// Package detect writes a first pharos.yaml for a repository, from what its tree
// holds.
//
// # What it looks for
//
//   - Dockerfiles (Dockerfile, Containerfile, Dockerfile.NAME, NAME.Dockerfile).
//     The inputs are what the COPY and ADD lines of the stages that the image
//     needs take. The context is the root of the tree: a Dockerfile that is
//     written for a context of its own, as its sources, a Compose file or ignore
//     rules in its folder show, is named in a comment instead, with what to
//     change.
//   - Go programs: main packages of all modules. The inputs are the folders of
//     the packages that they import from the tree, go.mod and go.sum, a workspace,
//     and embedded files. A program in the folder of a Dockerfile, or one that
//     a Dockerfile builds by its folder, is the Dockerfile's. Programs in folders
//     for tools, tests and examples are named in a comment, unless a kustomization
//     uses an image of their name.
//   - Node and Python projects: a comment says that nothing builds an image of one.
//   - Images that manifests name and nothing builds, where a folder of plain files has
//     the name: a comment says how to make an image of that.
//   - kustomizations. Those that no other one uses are overlays and become
//     targets; the images that they and their manifests name give the names.
//
// # What counts
//
// An explicit value of [Options] wins over what a manifest says, which wins over a
// guess from names of folders and files. Every guess has a comment that says where
// it comes from. A registry that nothing names is [NoRegistry], which is to be
// replaced. The same tree, options and go command give the same bytes, and
// catalogue.Check and inputs.Check find nothing to say about them, except that
// base images are not locked yet: [Result.Unlocked] lists those.
//
// Folders that begin with "." or "_", and those named vendor, node_modules,
// testdata and the like, are not looked into.
package detect
