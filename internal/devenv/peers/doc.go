// Package peers builds the programs that tests, examples and benchmarks run beside Pharos: real servers and tools,
// each from its own Go module, so that no machine needs anything but Go.
//
// A program is built once per version. Its key covers whatever can change the result: the Go toolchain, the target
// platform, the build flags, and the module's go.mod and go.sum; for a program whose source is in the module itself also
// that source. The result is kept below [os.UserCacheDir] in pharos/peers/NAME/KEY/NAME and is shared by all checkouts
// of a user. Two processes that want the same program at once build it once: the second waits for the first.
//
// The flags are chosen so that the compiled packages in Go's own build cache serve "go build", "go vet" and
// "go test" of the same module too: some of these programs take minutes to compile, and seconds to link again.
package peers
