package keptfile_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/pharos-dev/pharos/internal/keptfile"
	"github.com/pharos-dev/pharos/internal/killtest"
)

func TestMain(m *testing.M) { killtest.Main(m, write) }

// write counts in the file of a folder without end, and says what it has written.
func write(_ context.Context, dir string) error {
	f, err := keptfile.Open(dir, "state.json", largest)
	if err != nil {
		return err
	}
	data, version, err := f.Read()
	if err != nil {
		return err
	}
	n, err := 0, error(nil)
	if data != nil {
		n, err = strconv.Atoi(string(data))
	}
	for err == nil {
		n++
		if version, err = f.Write(strconv.AppendInt(nil, int64(n), 10), version); err == nil {
			fmt.Println(n)
		}
	}
	return err
}

// Killed at any moment, also in the middle of a write, it leaves the old content or the
// new one, and the next write nothing of what was killed.
func TestKilledWhileItWrites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := open(t, dir)
	last := 0
	for round := range 20 {
		cmd := killtest.Command(t, dir)
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
		data, _, err := f.Read()
		n, aerr := strconv.Atoi(string(data))
		if err != nil || aerr != nil || n != last && n != last+1 {
			t.Fatalf("round %d: it said %d, and left %q, %v", round, last, data, err)
		}
		last = n
	}
	_, version, err := f.Read()
	if err == nil {
		_, err = f.Write([]byte("1"), version)
	}
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 { // and the lock
		t.Errorf("left %v, %v", left, err)
	}
}
