package dir_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pharos-dev/pharos/receipt"
	"github.com/pharos-dev/pharos/receipt/dir"
	"github.com/pharos-dev/pharos/receipt/receipttest"
)

// The test program is its own writer: a process that can be killed.
const (
	writerDir   = "PHAROS_TEST_WRITER_DIR"
	writerFirst = "PHAROS_TEST_WRITER_FIRST"
)

func TestMain(m *testing.M) {
	if folder := os.Getenv(writerDir); folder != "" {
		if err := write(folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// kept is how many receipts a writer keeps.
const kept = 4

// write writes records, outcomes and pointers, and deletes what is old, until it is
// killed, and says on stdout after each step that it is done.
func write(folder string) error {
	ctx := context.Background()
	first, err := strconv.Atoi(os.Getenv(writerFirst))
	if err != nil {
		return err
	}
	s, err := dir.New(dir.Config{Dir: folder, Target: receipttest.Target})
	if err != nil {
		return err
	}
	for n := first; ; n++ {
		id, err := s.Put(ctx, record(n))
		if err != nil {
			return err
		}
		fmt.Println("record", n)
		if err := s.AddOutcome(ctx, id, outcome(n)); err != nil {
			return err
		}
		fmt.Println("outcome", n)
		// Another writer may move the pointers in between.
		for {
			old, err := s.Pointers(ctx)
			if err != nil {
				return err
			}
			_, err = s.SetPointers(ctx, old, receipt.Pointers{Applied: id, Live: old.Applied})
			if err == nil {
				break
			}
		}
		fmt.Println("pointers", n)
		if old := n - kept; old >= first {
			id, err := record(old).ID()
			if err == nil {
				err = s.Delete(ctx, id)
			}
			if err != nil {
				return err
			}
			fmt.Println("deleted", old)
		}
	}
}

// Whatever a writer had said was done is there after it was killed, and what it
// was doing is there in full or not at all.
func TestKill(t *testing.T) {
	t.Parallel()
	const rounds, writers = 12, 2
	folder := t.TempDir()
	var mu sync.Mutex
	done := map[string]bool{}
	for round := range rounds {
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), writerDir+"="+folder, fmt.Sprintf("%s=%d", writerFirst, (round*writers+w)*1000))
				cmd.Stderr = os.Stderr
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Error(err)
					return
				}
				if err := cmd.Start(); err != nil {
					t.Error(err)
					return
				}
				lines := bufio.NewScanner(out)
				for n := 0; n <= 3*round+w && lines.Scan(); n++ {
					mu.Lock()
					done[lines.Text()] = true
					mu.Unlock()
				}
				if err := cmd.Process.Kill(); err != nil {
					t.Error(err)
				}
				for lines.Scan() { // what it said before the signal came
					mu.Lock()
					done[lines.Text()] = true
					mu.Unlock()
				}
				if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() == 1 {
					t.Errorf("the writer ended by itself: %v", err)
				}
			})
		}
		wg.Wait()
		if t.Failed() {
			return
		}
		check(t, folder, done)
	}
	if len(done) < rounds*writers {
		t.Errorf("only %d steps were done in all", len(done))
	}
}

func check(t *testing.T, folder string, done map[string]bool) {
	t.Helper()
	s := open(t, folder, nil)
	list, err := s.List(t.Context()) // reads every record and every outcome
	if err != nil {
		t.Fatal(err)
	}
	held := map[receipt.ID]*receipt.Outcome{}
	for _, sum := range list {
		held[sum.ID] = sum.Last
	}
	p, err := s.Pointers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := held[p.Applied]; p.Applied != "" && !ok {
		t.Errorf("the pointers name %s, which is not there", p.Applied)
	}
	moved := 0
	for step := range done {
		if strings.HasPrefix(step, "pointers ") {
			moved++
		}
	}
	for step := range done {
		what, number, _ := strings.Cut(step, " ")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatalf("the writer said %q", step)
		}
		id, err := record(n).ID()
		if err != nil {
			t.Fatal(err)
		}
		last, ok := held[id]
		if done[fmt.Sprintf("pointers %d", n+kept)] && what != "deleted" {
			continue // it may be deleted since, in full
		}
		switch what {
		case "deleted":
			if outcomes, err := s.Outcomes(t.Context(), id); ok || err != nil || len(outcomes) > 0 {
				t.Errorf("record %d was deleted and is there: %v, %v", n, outcomes, err)
			}
		case "record":
			if !ok {
				t.Errorf("record %d was written and is gone", n)
			}
		case "outcome":
			if last == nil || last.Operation != outcome(n).Operation {
				t.Errorf("the outcome of record %d was written and is gone", n)
			}
		}
	}
	if version, err := strconv.Atoi("0" + p.Version); err != nil || version < moved {
		t.Errorf("the pointers were moved %d times and are at version %q", moved, p.Version)
	}
}
