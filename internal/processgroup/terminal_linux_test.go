package processgroup_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// A command whose standard input is a terminal reads there, and is interrupted from
// there; afterwards the terminal is that of who ran it.
func TestRunInATerminal(t *testing.T) {
	t.Parallel()
	ours, theirs := openTerminal(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), "PHAROS_TEST_ROLE=terminal")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := theirs.Close(); err != nil { // so that reading ours ends with them
		t.Fatal(err)
	}
	lines := bufio.NewScanner(ours)
	await := func(want string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), want) {
				return
			}
		}
		t.Fatalf("the terminal ends without %q: %v", want, lines.Err())
	}
	write := func(text string) {
		t.Helper()
		if _, err := ours.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	write("hello\n")
	await("got hello")
	write("\x1a\x03") // which suspends, and interrupts
	await("interrupted")
	await("ended: exit status 5")
	write("again\n")
	await(`then "again", <nil>, and 0 interrupts`)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
