package supervise_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/supervise"
)

// The test program is its own supervisor: a process that can be killed.
const killedEnv = "PHAROS_TEST_SUPERVISED"

// life is what such a process does.
type life struct {
	// Dir is the store's folder; each restart adds a byte to the file Log.
	Dir, Log string
	// Save and Restart are the write and the restart at which it dies, counted from
	// 1: before it has any effect, or right after if Late is set.
	Save, Restart int
	Late          bool
	// Endless has it write other states without end, and say so.
	Endless bool
}

func TestMain(m *testing.M) {
	if task := os.Getenv(killedEnv); task != "" {
		var l life
		err := json.Unmarshal([]byte(task), &l)
		if err == nil {
			err = l.live(context.Background())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// die ends this process as nothing else can.
func die() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {} // the signal is on its way
}

// live supervises something that always fails until it is parked.
func (l life) live(ctx context.Context) error {
	file, err := supervise.NewFile(l.Dir)
	if err != nil {
		return err
	}
	if l.Endless {
		return write(ctx, file)
	}
	s, err := supervise.New(supervise.Config{Thing: &mortal{life: l}, Store: &mortalStore{Store: file, life: l}, Policy: supervise.Policy{Pause: -1}})
	if err != nil {
		return err
	}
	for {
		r, err := s.Step(ctx)
		if err != nil || r.State.IsParked() {
			return err
		}
	}
}

// at dies if this is the time.
func (l life) at(n, when int, effect func() error) error {
	if n == when && !l.Late {
		die()
	}
	err := effect()
	if n == when {
		die()
	}
	return err
}

type mortal struct {
	life
	restarts int
}

func (m *mortal) Check(context.Context) (supervise.Observation, error) { return ill, nil }

func (m *mortal) Restart(context.Context) error {
	m.restarts++
	return m.at(m.restarts, m.life.Restart, func() error {
		f, err := os.OpenFile(m.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = f.WriteString("x")
		return errors.Join(err, f.Sync(), f.Close())
	})
}

type mortalStore struct {
	supervise.Store
	life
	saves int
}

func (m *mortalStore) Save(ctx context.Context, s supervise.State, version string) error {
	m.saves++
	return m.at(m.saves, m.life.Save, func() error { return m.Store.Save(ctx, s, version) })
}

// process is a process that lives so.
func (l life) process(t *testing.T) *exec.Cmd {
	t.Helper()
	task, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	// The race detector has a process sleep for a second before it exits.
	cmd.Env = append(os.Environ(), killedEnv+"="+string(task), "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	return cmd
}

// run runs the process, and says whether it was killed.
func (l life) run(t *testing.T) (killed bool) {
	t.Helper()
	err := l.process(t).Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.Exited()) {
		t.Fatal(err)
	}
	return err != nil
}

// ended checks how it ended: parked, with this many restarts at least and five at
// the most.
func (l life) ended(t *testing.T, least int) {
	t.Helper()
	restarts, err := os.ReadFile(l.Log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if len(restarts) < least || len(restarts) > 5 {
		t.Errorf("%+v: %d restarts, want %d to 5", l, len(restarts), least)
	}
	f, err := supervise.NewFile(l.Dir)
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := f.Load(t.Context())
	if err != nil || s.Restarts != 5 || s.Parked.Reason != "5 restarts did not help: it answers 500" {
		t.Errorf("%+v: %+v, %v", l, s, err)
	}
}

func newLife(t *testing.T) life {
	t.Helper()
	dir := t.TempDir()
	return life{Dir: filepath.Join(dir, "budget"), Log: filepath.Join(dir, "restarts")}
}

// Killed at any write or restart, before or after it, and gone on with: one restart
// is lost at the most, and none is made too often.
func TestKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		at    func(*life, int)
		steps int
	}{
		// Two each restart, and two to park.
		"write":   {func(l *life, n int) { l.Save = n }, 12},
		"restart": {func(l *life, n int) { l.Restart = n }, 5},
	} {
		for _, late := range []bool{false, true} {
			for n := 1; n <= tt.steps+1; n++ {
				t.Run(fmt.Sprintf("%s %d, late: %t", name, n, late), func(t *testing.T) {
					t.Parallel()
					l := newLife(t)
					l.Late = late
					tt.at(&l, n)
					if killed := l.run(t); killed != (n <= tt.steps) {
						t.Errorf("killed: %t", killed)
					}
					tt.at(&l, 0)
					if err := l.live(t.Context()); err != nil {
						t.Error(err)
					}
					l.ended(t, 4)
				})
			}
		}
	}
}

// A process that dies at each restart makes no more of them.
func TestKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		l := newLife(t)
		l.Late, l.Restart = late, 1
		lives := 1
		for lives < 20 && l.run(t) {
			lives++
		}
		if lives != 6 {
			t.Errorf("it took %d lives", lives)
		}
		least := 0
		if late {
			least = 5
		}
		l.ended(t, least)
	}
}

// write counts in the store, and says what it has written.
func write(ctx context.Context, f *supervise.File) error {
	was, version, err := f.Load(ctx)
	if err != nil {
		return err
	}
	for n := was.Restarts + 1; ; n++ {
		if err := f.Save(ctx, supervise.State{Restarts: n}, version); err != nil {
			return err
		}
		fmt.Println(n)
		if _, version, err = f.Load(ctx); err != nil {
			return err
		}
	}
}

// Killed at any moment, also in the middle of a write, it leaves the old state or the
// new one.
func TestKilledWhileItWrites(t *testing.T) {
	t.Parallel()
	l := newLife(t)
	l.Endless = true
	f, err := supervise.NewFile(l.Dir)
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for round := range 20 {
		cmd := l.process(t)
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
		s, _, err := f.Load(t.Context())
		if err != nil || s.Restarts != last && s.Restarts != last+1 {
			t.Fatalf("round %d: it said %d, and left %+v, %v", round, last, s, err)
		}
	}
	// The next write leaves nothing of what was killed.
	_, version, err := f.Load(t.Context())
	if err == nil {
		err = f.Save(t.Context(), supervise.State{}, version)
	}
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(l.Dir); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
}
