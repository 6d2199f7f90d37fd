//go:build unix

package golang_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pharos-dev/pharos/internal/exectest"
	"github.com/pharos-dev/pharos/lifecycle"
)

// stuck makes Go commands that wait for ever for their build cache. Its channel
// has one connection for each such command; a connection ends with the process
// at its other side.
func stuck(t *testing.T) (env []string, running <-chan net.Conn) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conns := make(chan net.Conn)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := io.ReadFull(conn, make([]byte, 1)); err == nil {
				select {
				case conns <- conn:
				case <-t.Context().Done():
				}
			}
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-stopped
	})
	return []string{"GOCACHEPROG=" + self, "PHAROS_TEST_ROLE=stuck-cache", "PHAROS_TEST_TELL=" + l.Addr().String()}, conns
}

// ended waits until the process at the other side of a connection has ended.
func ended(t *testing.T, conn net.Conn) {
	t.Helper()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the cache program said something")
	}
	_ = conn.Close()
}

func TestCancelEndsEveryProcess(t *testing.T) {
	t.Parallel()
	env, running := stuck(t)
	f := newFixture(t, env...)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	failed := make(chan error, 1)
	go func() {
		_, err := f.Build(ctx, f.request(greeting))
		failed <- err
	}()
	// The cache program is a child of the Go command, not of ours.
	conn := <-running
	why := errors.New("the user pressed Ctrl-C")
	cancel(why)
	err := <-failed
	ended(t, conn)
	if !errors.Is(err, why) || errors.Is(err, lifecycle.ErrSource) {
		t.Errorf("got the error %v, want the context's cause and no fault of the source", err)
	}
	f.empty()
}

func TestFailureOfOnePlatformEndsTheOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.request(with(greeting, map[string]string{"lib/words/words_arm64.go": "package words\n\nvar x int = \"no\"\n"}))
	r.State.Image.Platforms = []string{"linux/amd64", "linux/arm64"}
	if failed := f.fail(r); !strings.Contains(failed.Output, "words_arm64.go:3:13") {
		t.Errorf("the output does not name the line:\n%s", failed.Output)
	}
}

func child(t *testing.T, host, temp string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(environ(env...), "PHAROS_TEST_REGISTRY="+host, "PHAROS_TEST_TEMP="+temp)
	cmd.Stderr = t.Output()
	return cmd
}

// roleOfChild makes the Go command's children of a killed builder cache
// programs, while it itself is a builder.
const roleOfChild = "PHAROS_TEST_ROLE=build"

func TestNextBuildRemovesWhatAKilledOneLeft(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	env, running := stuck(t)
	// The child gives its own environment to the Go command, so the role of the
	// cache program is set by a script between them.
	script := filepath.Join(t.TempDir(), "cache")
	exectest.Write(t, script, []byte("#!/bin/sh\nPHAROS_TEST_ROLE=stuck-cache exec '"+strings.TrimPrefix(env[0], "GOCACHEPROG=")+"'\n"))
	cmd := child(t, f.host, f.temp, env[2], "GOCACHEPROG="+script, roleOfChild)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn := <-running
	if left, err := os.ReadDir(f.temp); err != nil || len(left) != 1 {
		t.Fatalf("the builder at work has the folders %v, %v; want one", left, err)
	}
	// Another build leaves it alone as long as its builder lives.
	r := f.request(greeting)
	if _, err := f.Build(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(f.temp); err != nil || len(left) != 1 {
		t.Fatalf("while the other builder is at work, these are left: %v, %v; want its folder", left, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the killed builder says that all went well")
	}
	// Its Go command ends with it, and what that started.
	ended(t, conn)
	f.build(r)
}

func TestReproducible(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	want := f.build(f.request(greeting)).Digest

	// Elsewhere: another folder, whose parents have a module and a workspace,
	// another umask, an empty build cache, and another user, who configured much.
	parent := t.TempDir()
	temp := filepath.Join(parent, "a", "rather", "longer", "path")
	if err := os.MkdirAll(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	goenv := filepath.Join(parent, "goenv")
	for file, content := range map[string]string{
		filepath.Join(parent, "go.mod"):  "module example.com/parent\n\ngo 1.99\n",
		filepath.Join(parent, "go.work"): "go 1.99\n\nuse ./nowhere\n",
		goenv:                            "GOFLAGS=-tags=user\nGOAMD64=v3\nGOEXPERIMENT=arenas\nCGO_ENABLED=1\nGOPROXY=off\n",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cache := t.TempDir()
	cmd := child(t, f.host, temp, roleOfChild, "GOCACHE="+cache, "HOME="+t.TempDir(), "GOENV="+goenv, "GOAMD64=v2", "GOWORK="+filepath.Join(parent, "go.work"),
		"GOFLAGS=-race -mod=mod", "GOOS=plan9", "CGO_ENABLED=1", "TZ=Asia/Kathmandu", "GODEBUG=gotypesalias=0")
	exectest.AsAnotherUser(cmd)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	uid := os.Getuid()
	if uid == 0 && runtime.GOOS == "linux" {
		uid = exectest.AnotherUser
	}
	if got := string(out); got != fmt.Sprint(uid, " ", want) {
		t.Errorf("the digest was %s here; there user %s had it", want, got)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestOutputIsStreamed(t *testing.T) {
	t.Parallel()
	env, running := stuck(t)
	// A cache program that cannot be reached any more ends, and so does the Go command.
	f := newFixture(t, env...)
	r := f.request(greeting)
	var out bytes.Buffer
	r.Output = &out
	failed := make(chan error, 1)
	go func() {
		_, err := f.Build(t.Context(), r)
		failed <- err
	}()
	conn := <-running
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Error(err)
	}
	_ = conn.Close()
	err := <-failed
	var build *lifecycle.BuildError
	if !errors.As(err, &build) || out.Len() == 0 || !strings.Contains(build.Output, strings.TrimSpace(out.String())) {
		t.Errorf("printed %q, the error is %v", out.String(), err)
	}
	f.empty()
}
