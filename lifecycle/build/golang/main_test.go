//go:build unix

package golang_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
)

// TestMain lets this test binary be the other processes that tests need: a
// builder that is killed, and a build cache that never answers.
func TestMain(m *testing.M) {
	switch os.Getenv("PHAROS_TEST_ROLE") {
	case "":
		os.Exit(m.Run())
	case "build":
		os.Exit(buildInChild())
	case "stuck-cache":
		os.Exit(stuckCache())
	default:
		fmt.Fprintln(os.Stderr, "unknown PHAROS_TEST_ROLE")
		os.Exit(2)
	}
}

// buildInChild builds the greeting with a umask of its own, and prints as whom and
// with which digest.
func buildInChild() int {
	syscall.Umask(0o077)
	b, err := newBuilder(os.Getenv("PHAROS_TEST_TEMP"), os.Environ())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	r, err := request(os.Getenv("PHAROS_TEST_REGISTRY"), greeting, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	res, err := b.Build(context.Background(), r)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Print(os.Getuid(), " ", res.Digest)
	return 0
}

// stuckCache is a cache program for the Go command (go help cacheprog) that says
// nothing: the Go command waits for it. It tells the test that it runs, and the
// connection tells the test when it has ended.
func stuckCache() int {
	conn, err := net.Dial("tcp", os.Getenv("PHAROS_TEST_TELL"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if _, err := conn.Write([]byte("!")); err != nil {
		return 1
	}
	_, _ = io.Copy(io.Discard, conn)
	return 0
}
