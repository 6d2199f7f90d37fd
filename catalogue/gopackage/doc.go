// Package gopackage says which files of a tree a Go main package is really built
// from, as the go command sees it: the sources that the build constraints choose
// for its platforms, of the package and of all that it imports within the tree,
// what assembly files include, embedded files, go.mod and go.sum, a workspace,
// vendored modules, and the recipe's assets.
//
// # How it asks
//
// [Open] writes what the go command looks at into a private folder: Go and
// assembler sources, go.mod, go.sum, go.work, and of other files, where a source
// beside or above them embeds some, only that they are there. [Folder.Reads] runs "go list -e -deps" in
// it, once for all recipes with the same module, settings and platform; nothing is
// compiled and nothing in the folder is changed (-mod=readonly, or -mod=vendor
// where there is a vendor folder). [Folder.Mains] finds the main packages of all
// modules.
//
// # What it depends on
//
// The answer is the tree's and the recipe's. Of the user's Go environment only
// the settings that say where modules, caches and credentials are have a part in
// it: modules that are not in the module cache yet are downloaded, as the build
// would do. cgo is off and build constraints are judged as the Go builder does,
// by the toolchain that [catalogue.GoToolchain] names; the installed one stands
// in for it if it is the same version of the language and no older.
//
// Whatever the tree is the cause of is a [Problem] beside the files that could be
// found nevertheless; errors are the machine's.
package gopackage
