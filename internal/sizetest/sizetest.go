// Package sizetest says how large tests are.
package sizetest

import "os"

// Of returns small, or full where PHAROS_TEST_SIZE asks for the full sizes, as it does before a release.
func Of[T any](small, full T) T {
	if Full() {
		return full
	}
	return small
}

// Full says whether PHAROS_TEST_SIZE asks for the full sizes.
func Full() bool { return os.Getenv("PHAROS_TEST_SIZE") == "full" }
