//go:build unix

package processgroup_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/pharos-dev/pharos/internal/processgroup"
)

// family is a shell with a child that waits. Both hold the standard output, which
// ends when both have ended.
const family = "(echo child; exec tail -f /dev/null) & echo parent; wait"

// TestMain lets this test binary be the process that runs a command and is killed.
func TestMain(m *testing.M) {
	switch os.Getenv("PHAROS_TEST_ROLE") {
	case "run":
	case "terminal":
		os.Exit(inTerminal())
	default:
		os.Exit(m.Run())
	}
	cmd := exec.CommandContext(context.Background(), "/bin/sh", "-c", family)
	cmd.Stdout = os.Stdout
	fmt.Fprintln(os.Stderr, processgroup.Run(cmd))
	os.Exit(1)
}

// inTerminal runs a command in the terminal that this process has, and reads from
// there when it has ended.
func inTerminal() int {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	cmd := exec.CommandContext(context.Background(), "/bin/sh", "-c", `trap 'echo interrupted; exit 5' INT; read line; echo "got $line"; tail -f /dev/null & wait`)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	fmt.Println("ended:", processgroup.Run(cmd))
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	fmt.Printf("then %q, %v, and %d interrupts\n", strings.TrimSpace(line), err, len(interrupted))
	return 0
}

// started reads that both of the family run.
func started(t *testing.T, r io.Reader) *bufio.Reader {
	t.Helper()
	lines := bufio.NewReader(r)
	said := map[string]bool{}
	for range 2 {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		said[strings.TrimSpace(line)] = true
	}
	if !said["child"] || !said["parent"] {
		t.Fatalf("they said %v", said)
	}
	return lines
}

// ended waits until nobody holds the other end of a pipe.
func ended(t *testing.T, r io.Reader) {
	t.Helper()
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
}

func TestRunEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "PHAROS_TEST_ROLE=run")
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := started(t, out)
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	ended(t, lines)
	_ = cmd.Wait()
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", family)
	cmd.Stdout = w
	failed := make(chan error, 1)
	go func() {
		defer w.Close()
		failed <- processgroup.Run(cmd)
	}()
	lines := started(t, r)
	cancel()
	if err := <-failed; err == nil {
		t.Error("a command that was ended has no error")
	}
	ended(t, lines)
}

// A command that ends leaves nobody either.
func TestRunEndsWithItsCommand(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "tail -f /dev/null & exit 3")
	cmd.Stdout = w
	err = processgroup.Run(cmd)
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 3 {
		t.Errorf("got %v, want the exit code 3", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	ended(t, r)

	if err := processgroup.Run(exec.CommandContext(t.Context(), "/nowhere/program")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a command that there is not: %v", err)
	}
}

// What a command started ends with it also when somebody has killed the guard.
func TestGroupEndsWithoutItsGuard(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "tail -f /dev/null & ps -o pgid= -p $$; read _; exit 3")
	cmd.Stdout = w
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	g, err := processgroup.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	lines, guard := bufio.NewReader(r), 0
	if _, err := fmt.Fscanln(lines, &guard); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(guard, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if exit, ok := errors.AsType[*exec.ExitError](g.Wait()); !ok || exit.ExitCode() != 3 {
		t.Errorf("got %v, want the exit code 3", exit)
	}
	ended(t, lines)
}
