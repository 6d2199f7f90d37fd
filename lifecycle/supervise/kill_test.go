package supervise_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/pharos-dev/pharos/internal/killtest"
	"github.com/pharos-dev/pharos/lifecycle/supervise"
)

// life is what such a process does.
type life struct {
	// Dir is the store's folder; each restart adds a byte to the file Log.
	Dir, Log string
	// Save and Restart are the write and the restart at which it dies, counted from
	// 1: before it has any effect, or right after if Late is set.
	Save, Restart int
	Late          bool
}

func TestMain(m *testing.M) {
	killtest.Main(m, func(ctx context.Context, l life) error { return l.live(ctx) })
}

// live supervises something that always fails until it is parked.
func (l life) live(ctx context.Context) error {
	file, err := supervise.NewFile(l.Dir)
	if err != nil {
		return err
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
		killtest.Die()
	}
	err := effect()
	if n == when {
		killtest.Die()
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
					if killed := killtest.Run(t, l); killed != (n <= tt.steps) {
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
		for lives < 20 && killtest.Run(t, l) {
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
