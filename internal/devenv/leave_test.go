//go:build unix

package devenv_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
)

// parentVariable makes this test program start a cluster, with a real node if its value is withNode, say so, and wait to be
// killed.
const (
	parentVariable = "DEVENV_TEST_PARENT"
	withNode       = "node"
)

// parent is what such a program says of its cluster.
type parent struct {
	StateDir, Server string
	PID              int
	// InitPID is of a cluster with a real node.
	InitPID int
}

// parents are further values of parentVariable, and what such a program starts.
var parents = map[string]func(context.Context) (parent, error){}

func TestMain(m *testing.M) {
	var p parent
	var err error
	which := os.Getenv(parentVariable)
	switch start := parents[which]; {
	case which == "":
		os.Exit(m.Run())
	case start != nil:
		p, err = start(context.Background())
	case which == withNode:
		var n *devenv.Node
		if n, err = devenv.StartNode(context.Background(), devenv.NodeOptions{}); err == nil {
			p = parent{n.StateDir(), n.Config().Host, n.PID(), n.InitPID()}
		}
	default:
		var c *devenv.Cluster
		if c, err = devenv.Start(context.Background(), devenv.Options{}); err == nil {
			p = parent{c.StateDir(), c.Config().Host, c.PID(), 0}
		}
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(p)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}

// startParent starts a process that has a cluster (a value of parentVariable says which), and returns a function that
// kills that process.
func startParent(t *testing.T, which string) (p parent, kill func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), parentVariable+"="+which)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(out).Decode(&p); err != nil {
		t.Fatal(err)
	}
	return p, func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		// It was killed: there is nothing else to learn from its end.
		_ = cmd.Wait()
	}
}

// awaitGone waits until a process that is not our child has ended.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH), nil
	})
	if err != nil {
		t.Fatalf("process %d is still there: %v", pid, err)
	}
}

func TestKilledParentLeavesNothing(t *testing.T) {
	t.Parallel()
	p, kill := startParent(t, "hollow")
	kill()
	awaitGone(t, p.PID)
	wantNothingAt(t, p.StateDir, p.Server)
}

func TestNextStartSweepsWhatAHardKillLeft(t *testing.T) {
	t.Parallel()
	p, kill := startParent(t, "hollow")
	if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	kill()
	if _, err := os.Stat(p.StateDir); err != nil {
		t.Fatalf("the killed cluster's folder is gone already: %v", err)
	}
	awaitGone(t, p.PID)
	living := devtest.OwnCluster(t, devenv.Options{NoNode: true})
	wantNothingAt(t, p.StateDir, p.Server)

	// Another start leaves the living one alone.
	devtest.OwnCluster(t, devenv.Options{NoNode: true})
	createConfigMap(t, living, "still-there")
}

func TestTerminationSignalEndsTheWholeCluster(t *testing.T) {
	t.Parallel()
	c := devtest.OwnCluster(t, devenv.Options{NoNode: true})
	if err := syscall.Kill(c.PID(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	server := c.Config().Host
	if err := c.Stop(); err != nil {
		t.Errorf("stop after the signal: %v", err)
	}
	wantNothingAt(t, c.StateDir(), server)
}
