package job_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle"
)

// A BuildKit that is killed while it builds is no fault of the image.
func TestNodeBuildKitIsKilled(t *testing.T) {
	t.Parallel()
	n := onNode(t)
	base, digest := n.base()
	printed := newAwaitText("begun\n")
	r := n.gated(base, digest)
	r.Output = printed
	c := n.config()
	c.Target = n.namespace // so that the folder of the cache is this test's
	done := make(chan error, 1)
	go func() {
		_, err := n.builder(c).Build(t.Context(), r)
		done <- err
	}()
	j := n.job(t.Context())
	<-printed.found
	root := ""
	for _, arg := range j.Spec.Template.Spec.InitContainers[0].Args {
		root = arg
	}
	killed := 0
	for _, pid := range processes(t, "buildkitd", "--root="+root) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		killed++
	}
	if killed != 1 {
		t.Fatalf("%d processes of BuildKit were killed", killed)
	}
	if err := <-done; !errors.Is(err, lifecycle.ErrUnreachable) || errors.Is(err, lifecycle.ErrSource) {
		t.Errorf("error %v", err)
	}
}

// processes are those of this machine with that program and argument.
func processes(t *testing.T, program, arg string) []int {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, line := range lines {
		args, err := os.ReadFile(line)
		if err != nil {
			continue // it has ended
		}
		fields := strings.Split(string(bytes.TrimRight(args, "\x00")), "\x00")
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(line)))
		if err == nil && filepath.Base(fields[0]) == program && strings.Contains(string(args), "\x00"+arg+"\x00") {
			pids = append(pids, pid)
		}
	}
	return pids
}
