package lease_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
)

// The test program is its own contender: a process that can be killed.
const (
	racerKubeconfig = "PHAROS_TEST_RACER_KUBECONFIG"
	racerNamespace  = "PHAROS_TEST_RACER_NAMESPACE"
	racerLog        = "PHAROS_TEST_RACER_LOG"
	racerSkew       = "PHAROS_TEST_RACER_SKEW"
)

func TestMain(m *testing.M) {
	if os.Getenv(racerKubeconfig) != "" {
		if err := race(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// wrong is a clock that is wrong by a constant.
type wrong struct{ by time.Duration }

func (w wrong) Now() time.Time                       { return time.Now().Add(w.by) }
func (wrong) After(d time.Duration) <-chan time.Time { return time.After(d) }

// race acquires the lease once for each line on stdin, writes to the log under
// it, and says so on stdout; "hold" on stdin makes it wait for its death while
// it holds the lease.
func race() error {
	ctx := context.Background()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv(racerKubeconfig))
	if err != nil {
		return err
	}
	skew, err := time.ParseDuration(os.Getenv(racerSkew))
	if err != nil {
		return err
	}
	m, err := lease.New(lease.Config{
		REST: config, Namespace: os.Getenv(racerNamespace), Target: "devbox", Clock: wrong{skew},
		Deliver:        lease.Timing{Duration: 8 * time.Second, RenewEvery: time.Second},
		RequestTimeout: 2 * time.Second, RetryPeriod: 50 * time.Millisecond, Margin: 2 * time.Second, Grace: time.Second,
	})
	if err != nil {
		return err
	}
	log, err := os.OpenFile(os.Getenv(racerLog), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		h, err := m.Acquire(ctx, lease.Request{Mode: lease.ModeDeliver, Wait: 5 * time.Minute})
		if err != nil {
			return err
		}
		for range 3 {
			err := h.Check(ctx)
			if err == nil {
				_, err = fmt.Fprintf(log, "%d %s\n", h.Token(), h.Holder())
			}
			if err != nil && !errors.Is(err, lease.ErrLost) {
				return err
			}
		}
		fmt.Println(h.Token())
		if lines.Text() == "hold" {
			select {}
		}
		if err := h.Release(ctx); err != nil {
			return err
		}
	}
	return log.Close()
}

// Processes whose clocks are wrong, some of which are killed while they hold
// the lease, write to one log. The log shows who held it.
func TestRace(t *testing.T) {
	t.Parallel()
	const processes, rounds = 5, 6
	c := devtest.Cluster(t)
	namespace := devtest.Namespace(t, c)
	file, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	start := func(p int, orders string) *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), racerKubeconfig+"="+c.Kubeconfig(), racerNamespace+"="+namespace, racerLog+"="+file.Name(),
			fmt.Sprintf("%s=%dm", racerSkew, (p-2)*5))
		cmd.Stdin, cmd.Stderr = strings.NewReader(orders), os.Stderr
		return cmd
	}
	var wg sync.WaitGroup
	for p := range processes {
		wg.Go(func() {
			if p > 1 {
				if err := start(p, strings.Repeat("go\n", rounds)).Run(); err != nil {
					t.Errorf("process %d: %v", p, err)
				}
				return
			}
			cmd := start(p, "go\nhold\n")
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
			for n := 0; n < 2 && lines.Scan(); n++ {
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
			if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() == 1 {
				t.Errorf("process %d ended by itself: %v", p, err)
			}
		})
	}
	wg.Wait()
	data, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	holders, last, writes := map[int]string{}, 0, 0
	for line := range strings.Lines(string(data)) {
		number, holder, _ := strings.Cut(strings.TrimSpace(line), " ")
		token, err := strconv.Atoi(number)
		if err != nil {
			t.Fatalf("the log says %q", line)
		}
		if token < last {
			t.Errorf("token %d wrote after token %d", token, last)
		}
		if h, ok := holders[token]; ok && h != holder {
			t.Errorf("token %d is that of %s and of %s", token, h, holder)
		}
		holders[token], last = holder, token
		writes++
	}
	if want := (processes-2)*rounds + 2*2; len(holders) != want || writes < want {
		t.Errorf("%d holders wrote %d times, want %d holders", len(holders), writes, want)
	}
}

// Goroutines that try at once, without waiting: one gets it, the others learn
// who.
func TestRaceWithoutWaiting(t *testing.T) {
	t.Parallel()
	const contenders, rounds = 8, 5
	w := newWorld(t)
	for round := range rounds {
		held := make([]*lease.Held, contenders)
		errs := make([]error, contenders)
		var wg sync.WaitGroup
		begin := make(chan struct{})
		for i := range contenders {
			m := w.manager(t)
			wg.Go(func() {
				<-begin
				held[i], errs[i] = m.Acquire(t.Context(), deliver)
			})
		}
		close(begin)
		wg.Wait()
		winner := -1
		for i, err := range errs {
			switch {
			case err == nil && winner >= 0:
				t.Fatalf("round %d: %d and %d both hold it", round, winner, i)
			case err == nil:
				winner = i
			}
		}
		if winner < 0 {
			t.Fatalf("round %d: nobody holds it: %v", round, errs)
		}
		if token := held[winner].Token(); token != int64(round)+1 {
			t.Errorf("round %d: token %d", round, token)
		}
		for i, err := range errs {
			var e *lease.HeldError
			if i != winner && (!errors.As(err, &e) || e.State.Holder != held[winner].Holder()) {
				t.Errorf("round %d: %v, want that %s holds it", round, err, held[winner].Holder())
			}
		}
		if err := held[winner].Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
