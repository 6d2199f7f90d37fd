//go:build !linux

package environment

// inMemory says whether a folder is on a file system in memory: none is that can be
// relied on.
func inMemory(string) bool { return false }
