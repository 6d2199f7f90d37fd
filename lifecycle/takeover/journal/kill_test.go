package journal_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
)

// The test program is its own writer: a process that can be killed.
const killedEnv = "PHAROS_TEST_JOURNAL"

func TestMain(m *testing.M) {
	if dir := os.Getenv(killedEnv); dir != "" {
		fmt.Fprintln(os.Stderr, write(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// write counts in the journal without end, and says what it has written.
func write(dir string) error {
	f, err := journal.OpenFile(dir)
	if err != nil {
		return err
	}
	d, version, err := f.Load()
	if errors.Is(err, journal.ErrNone) {
		d, err = document("pharos"), nil
		d.Token = 0
	}
	if err != nil {
		return err
	}
	for {
		d.Token++
		if version, err = f.Save(d, version); err != nil {
			return err
		}
		fmt.Println(d.Token)
	}
}

// Killed at any moment, also in the middle of a write, it leaves the old document or the
// new one, and the next write nothing of what was killed.
func TestKilledWhileItWrites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := open(t, dir)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var last int64
	for round := range 20 {
		cmd := exec.CommandContext(t.Context(), program)
		// The race detector has a process sleep for a second before it exits.
		cmd.Env = append(os.Environ(), killedEnv+"="+dir, "GORACE=atexit_sleep_ms=0")
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for range round + 1 {
			lines.Scan()
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for ok := true; ok; ok = lines.Scan() { // what it said before it was dead
			if _, err := fmt.Sscan(lines.Text(), &last); err != nil && lines.Text() != "" {
				t.Fatal(err)
			}
		}
		_ = cmd.Wait()
		d, _, err := f.Load()
		if err != nil || d.Token != last && d.Token != last+1 {
			t.Fatalf("round %d: it said %d, and left %s with %d, %v", round, last, d, d.Token, err)
		}
		last = d.Token
	}
	d, version, err := f.Load()
	if err == nil {
		_, err = f.Save(d, version)
	}
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 { // and the lock
		t.Errorf("left %v, %v", left, err)
	}
}
