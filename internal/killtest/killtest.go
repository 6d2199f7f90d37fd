// Package killtest lets a test program be the processes that its tests kill. Such a process is this program again, told by its
// environment what to do; it ends as nothing else can, with SIGKILL, at a moment that it chooses itself or at any.
package killtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// variable holds the task of a process, in JSON.
const variable = "PHAROS_TEST_TASK"

// Main is what TestMain does: it runs live where this process is one of [Command], and the tests in any other. A process
// whose live returns ends with status 0, or with 1 and the error on stderr.
func Main[Task any](m *testing.M, live func(context.Context, Task) error) {
	doc, ok := os.LookupEnv(variable)
	if !ok {
		os.Exit(m.Run())
	}
	var task Task
	err := json.Unmarshal([]byte(doc), &task)
	if err == nil {
		err = live(context.Background(), task)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Command returns a process that has the task, which is one that JSON can hold, and ends with the test at the latest. What it
// prints on stderr is the tests' own.
func Command(t testing.TB, task any) *exec.Cmd {
	t.Helper()
	env, err := Environ(task)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env, cmd.Stderr = env, os.Stderr
	return cmd
}

// Environ is the environment of this program as a process that has the task, for who starts it otherwise than by [Command].
func Environ(task any) ([]string, error) {
	doc, err := json.Marshal(task)
	if err != nil {
		return nil, err
	}
	// The race detector has a process sleep for a second before it exits.
	return append(os.Environ(), variable+"="+string(doc), "GORACE=atexit_sleep_ms=0"), nil
}

// Run runs a process with the task, and returns whether it was killed. One that fails by itself fails the test.
func Run(t testing.TB, task any) (killed bool) {
	t.Helper()
	err := Command(t, task).Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.Exited() || t.Context().Err() != nil) {
		t.Fatalf("the process was not killed: %v", err)
	}
	return err != nil
}

// Die ends this process.
func Die() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {} // the signal is on its way
}
