// Package golang builds images of Go programs without a container daemon, in
// the manner of ko: the go command makes a static program for each platform, and
// the program becomes one layer on a base image.
//
// # What a build reads
//
// The pruned tree of an image is exported into a private folder and built there,
// so a build reads of the repository what the catalogue declares, and nothing
// else. What the go.mod, the go.work and the sources name beyond that ends in a
// *[lifecycle.BuildError] that lists each path with the pattern that would
// declare it: a package, a file that is left out of a package, an embedded file,
// go.mod, go.sum, go.work, go.work.sum, a module of the workspace or of a
// replace directive, vendored modules, what an assembly file includes. Those that
// no pattern can declare (replace and use directives, and #include in an assembly
// file, that are absolute or lead above the root, links out of the tree) are named
// with file and line. A go.mod or go.work above the private
// folder is never looked at.
//
// A go.work governs a build if it lies in the module's folder or above it in
// the tree, and uses the module; it must be among the inputs then, with the go.mod
// of each module that it uses, unless the recipe sets GOWORK=off. Modules in a
// vendor folder are used if there is one; if not, they come from wherever the
// user's Go environment says, and are checked against go.sum.
//
// [Builder.Check] finds most of it before anything is compiled. Only the compiler
// knows of a file that is left out of a package with others.
//
// A file that is matched by a build constraint or an embedding pattern, and that
// the inputs leave out while others match too, is not missed here: the program
// builds without it.
//
// # What a build depends on
//
// The Go toolchain is the one that the fingerprint names, see
// [catalogue.GoToolchain]. If the recipe or a toolchain line pins it, it is the one
// that builds, whatever is installed: Go downloads it where it has to. If not, it
// is the go command's own, and a go line that asks for a newer one is an error.
// [lifecycle.BuildResult].Toolchain says which it was.
//
// The go command is told everything that has a say in the program: -trimpath,
// -buildvcs=false, -mod=readonly or vendor, an empty build ID, the recipe's
// ldflags, tags and variables, CGO_ENABLED=0, the least variant of each
// architecture, and the platform. Of [Config].Env it sees the rest: PATH, HOME,
// proxies, GOPROXY, GOPRIVATE, GOAUTH, GOMODCACHE, GOCACHE and the like. From a
// file that "go env -w" wrote, only such settings are taken. GOFLAGS,
// GOEXPERIMENT, GOAMD64, CC and others that would change the program are not
// taken from the machine. Cgo is refused: its compiler and libraries would be the
// machine's. Object files (.syso) are linked by Go's own linker, or not at all, for
// the same reason.
//
// Go checks a module against go.sum when it downloads it, and not again when it
// reads it from GOMODCACHE: who can write there can change what is built, as by
// replacing the Go command itself. "go mod verify" checks what is there.
//
// Templates in ldflags and tags ([catalogue.GoValues]) are replaced for each
// platform. They follow from the tree alone: a commit or a time in a program would
// make another image of the same inputs, and stands in the receipt instead.
//
// The same inputs, recipe, base and toolchain give the same bytes, in any folder,
// at any time, for any user.
//
// # The image
//
// An OCI index holds one image for each platform. The program stands at
// /app/<name>, where name is the last element of the package's path, as for
// "go build"; it is the entrypoint, run as user 65532:65532, which is nobody. The
// layer is a tar archive (owner root, mode 0555, times zero), compressed with
// gzip at its fastest level, once: a registry nearby is served sooner by a larger
// layer than by a later one. Assets are a layer of their own below it, under
// /app with their paths in the tree, and the working directory is /app then. The
// base is empty, or one image of a reference by digest for each platform: the
// recipe's own, that of pharos.lock, or an image of the catalogue that was built
// before.
//
// # Processes and files
//
// A build has one private folder in [Config].TempDir, named "pharos-go-" and a
// random number and locked as long as the build runs. It is removed when the
// build ends, in whatever way. When ctx ends, the go command and all that it
// started are killed; so are they, other than on Windows, when the building process
// is killed itself. The next build in the same TempDir removes the folder then. On file systems that are shared between
// machines the locks may not hold: use a local TempDir.
//
// All builds of a user share a build cache: the folder "pharos" inside of GOCACHE, as
// Go keeps its cache for fuzzing there. What other programs write to the user's own
// cannot reach an image. A GOCACHEPROG is used as it is.
//
// Builds that begin together on a Go build cache without the standard library
// wait for the first of them, so that it is compiled once.
//
// A folder of this machine that is full or closed, and a compiler that is killed
// for want of memory, are no fault of the inputs: the error is a
// *[lifecycle.Error] of no class then, which names the folder.
package golang
