package racetest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pharos-dev/pharos/internal/devenv"
	"github.com/pharos-dev/pharos/internal/devenv/devtest"
	"github.com/pharos-dev/pharos/lease"
)

// hung is how long nothing may happen at all: then it is a deadlock.
const hung = 10 * time.Minute

// Race is a race for one lease.
type Race struct {
	Cluster *devenv.Cluster
	Setup   Setup // Kubeconfig, Log and Skew are filled in
	// Processes race for the lease in each of the Rounds.
	Processes, Rounds int
	// Manager breaks leases, and acquires the lease at the end.
	Manager *lease.Manager
	Mode    lease.Mode
	// Waiting is about how many wait in each round, beside one, while somebody else
	// holds the lease. The others give up at once.
	Waiting int
	// Before is called before each round, and Held when somebody in it has acquired
	// the lease, who does nothing until it returns. They may be nil.
	Before, Held func()
	// Last is called before the last round, in which one process alone acquires the
	// lease, and is killed. It may be nil.
	Last func()
	// Ended is called when all processes have ended, before the lease is acquired
	// once more. It may be nil.
	Ended func()
	// Judge is shown what the API server was asked. It may be nil.
	Judge func([]devenv.AuditEvent)
	// OnItsWay is how long a write may be on its way after its Check.
	OnItsWay time.Duration
}

// Seed is that of PHAROS_TEST_SEED, or a random one, which is told if the test
// fails.
func Seed(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("PHAROS_TEST_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("to have the same events: PHAROS_TEST_SEED=%d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// runner is a process, as the test sees it.
type runner struct {
	number int
	cmd    *exec.Cmd
	orders io.WriteCloser
	// busy says that its round has not ended, asleep that it is suspended, and
	// killed that it is to die.
	busy, asleep, killed bool
}

// line is what a runner said; its output has ended if there is an error.
type line struct {
	from *runner
	text string
	err  error
}

// race is a Race that runs.
type race struct {
	Race
	t       testing.TB
	rand    *rand.Rand
	runners []*runner
	lines   chan line
	ended   map[string]int // how rounds ended
	events  map[event]int
}

// Run runs the race and judges it.
func (r Race) Run(t testing.TB) {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	r.Setup.Kubeconfig, r.Setup.Log = r.Cluster.Kubeconfig(), file.Name()
	objects := devtest.Client(t, r.Cluster.Config()).CoreV1().ConfigMaps(r.Setup.Namespace)
	_, err = objects.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: object}, Data: map[string]string{"number": "0"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	audit := devtest.RecordAudit(t, r.Cluster)
	race := &race{Race: r, t: t, rand: Seed(t), lines: make(chan line), ended: map[string]int{}, events: map[event]int{}}
	defer race.stop()
	for n := range r.Processes {
		race.runners = append(race.runners, race.start(n))
	}
	for _, e := range race.deck(r.Rounds - 1) {
		race.round(e)
	}
	if r.Last != nil {
		r.Last()
	}
	race.round(killLast)
	last := race.finish()
	t.Logf("the last token is %d; what happened: %v; how that ended: %v", last, race.events, race.ended)
	race.judge(audit, last)
}

// start starts a process. Its clock is wrong by up to ten minutes.
func (r *race) start(number int) *runner {
	r.t.Helper()
	s := r.Setup
	s.Skew = time.Duration(r.rand.Int64N(int64(20*time.Minute))) - 10*time.Minute
	text, err := json.Marshal(s)
	if err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), variable+"="+string(text))
	cmd.Stderr = os.Stderr
	orders, err := cmd.StdinPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	p := &runner{number: number, cmd: cmd, orders: orders}
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			r.lines <- line{from: p, text: lines.Text()}
		}
		r.lines <- line{from: p, err: errors.Join(io.EOF, lines.Err())}
	}()
	return p
}

// next is what happens next.
func (r *race) next() line {
	r.t.Helper()
	select {
	case l := <-r.lines:
		return l
	case <-time.After(hung):
		s, err := r.Manager.Inspect(context.Background())
		r.t.Fatalf("nothing happened for %s; the lease is %+v, %v", hung, s, err)
		panic("unreachable")
	}
}

// event is what happens in a round besides.
type event string

const (
	nothing     event = "nothing"
	killSome    event = "kill somebody"
	killHolder  event = "kill the holder"
	killLast    event = "kill the last holder"
	killBroken  event = "kill the holder and break its lease"
	breakHolder event = "break the holder's lease"
	sleepHolder event = "suspend the holder until somebody else holds the lease"
	breakAsleep event = "suspend it, and break its lease"
)

// deck is what happens in so many rounds, in the order in which it does. Where
// somebody has to wait for the end of a lease it takes seconds, and so happens less
// often than what takes none.
func (r *race) deck(rounds int) []event {
	var deck []event
	for _, d := range []struct {
		event
		percent int
	}{{killHolder, 2}, {killBroken, 4}, {sleepHolder, 2}, {breakAsleep, 4}, {breakHolder, 4}, {killSome, 20}} {
		for range (rounds*d.percent + 99) / 100 {
			deck = append(deck, d.event)
		}
	}
	for len(deck) < rounds {
		deck = append(deck, nothing)
	}
	r.rand.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
	return deck[:rounds]
}

// round has every process race once.
func (r *race) round(plan event) {
	r.t.Helper()
	at := r.rand.IntN(4)
	if plan == killLast {
		at = 0
	}
	if r.Before != nil {
		r.Before()
	}
	for i, p := range r.runners {
		o := order{Writes: 1 + r.rand.IntN(3), Renew: r.rand.IntN(2) == 0, Open: r.rand.IntN(2) == 0, Ask: r.Held != nil}
		if i == 0 || r.rand.IntN(r.Processes) < r.Waiting {
			o.Wait = hung
		}
		if i == 0 || plan != killLast {
			r.send(p, o)
		}
	}
	for r.busy() > 0 {
		l := r.next()
		r.heard(l)
		switch {
		case plan == nothing || l.err != nil || plan == killLast && !strings.HasPrefix(l.text, sayHeld):
		case plan == killSome:
			if at--; at < 0 {
				r.hit(plan, r.runners[r.rand.IntN(len(r.runners))])
				plan = nothing
			}
		case l.from.busy && (strings.HasPrefix(l.text, sayHeld) || strings.HasPrefix(l.text, sayAt)):
			if at--; at < 0 {
				r.hit(plan, l.from)
				plan = nothing
			}
		}
		if !slices.ContainsFunc(r.runners, func(p *runner) bool { return p != nil && p.busy && !p.asleep }) {
			r.wake() // nobody else wants the lease
		}
	}
	for i, p := range r.runners {
		if p == nil {
			r.runners[i] = r.start(i)
		}
	}
}

func (r *race) send(p *runner, o order) {
	r.t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		r.t.Fatal(err)
	}
	p.busy = true
	if _, err := fmt.Fprintln(p.orders, string(text)); err != nil {
		r.t.Errorf("process %d: %v", p.number, err)
	}
}

// busy is how many are in the round.
func (r *race) busy() int {
	n := 0
	for _, p := range r.runners {
		if p != nil && p.busy {
			n++
		}
	}
	return n
}

// heard notes what a process said.
func (r *race) heard(l line) {
	r.t.Helper()
	p := l.from
	what, rest, _ := strings.Cut(l.text, " ")
	switch {
	case l.err != nil:
		if err := p.cmd.Wait(); !p.killed {
			r.t.Errorf("process %d ended by itself: %v, %v", p.number, l.err, err)
		}
		r.runners[p.number] = nil
		what = "gone"
	case what == sayHeld:
		r.wake() // they have slept through somebody else's acquisition
		if r.Held == nil || p.killed {
			return
		}
		r.Held()
		if _, err := fmt.Fprintln(p.orders, "go on"); err != nil {
			r.t.Errorf("process %d: %v", p.number, err)
		}
		return
	case what == sayAt:
		return
	case what == sayError:
		r.t.Errorf("process %d: %s", p.number, rest)
	}
	p.busy = false
	r.ended[what]++
}

// hit has an event happen to a process.
func (r *race) hit(e event, p *runner) {
	r.t.Helper()
	if p == nil || p.killed {
		return
	}
	r.events[e]++
	switch e {
	case killSome, killHolder, killLast, killBroken:
		// The round ends when it is known to be dead.
		p.killed, p.busy, p.asleep = true, true, false
		if err := p.cmd.Process.Kill(); err != nil {
			r.t.Errorf("kill process %d: %v", p.number, err)
		}
	case sleepHolder, breakAsleep:
		p.asleep = true
		if err := suspend(p.cmd.Process); err != nil {
			r.t.Errorf("suspend process %d: %v", p.number, err)
		}
	}
	if e == killBroken || e == breakAsleep || e == breakHolder {
		_, err := r.Manager.Break(r.t.Context(), lease.BreakRequest{User: "test@here", Reason: "the race"})
		if err != nil && !errors.Is(err, lease.ErrNotHeld) && !errors.Is(err, lease.ErrHeld) && !errors.Is(err, lease.ErrLeftClosed) {
			r.t.Errorf("break the lease of process %d: %v", p.number, err)
		}
	}
}

// wake has all go on that are suspended.
func (r *race) wake() {
	r.t.Helper()
	for _, p := range r.runners {
		if p == nil || !p.asleep {
			continue
		}
		p.asleep = false
		if err := wake(p.cmd.Process); err != nil {
			r.t.Errorf("let process %d go on: %v", p.number, err)
		}
	}
}

// finish lets the processes end by themselves, and acquires the lease once more:
// it returns the last token.
func (r *race) finish() int64 {
	r.t.Helper()
	for _, p := range r.runners {
		p.killed, p.busy = true, true
		if err := p.orders.Close(); err != nil {
			r.t.Errorf("process %d: %v", p.number, err)
		}
	}
	for r.busy() > 0 {
		l := r.next()
		p := l.from
		if r.heard(l); l.err != nil && !p.cmd.ProcessState.Success() {
			r.t.Errorf("process %d: %s", p.number, p.cmd.ProcessState)
		}
	}
	if r.Ended != nil {
		r.Ended()
	}
	h, err := r.Manager.Acquire(r.t.Context(), lease.Request{Mode: r.Mode, Wait: hung})
	if err != nil {
		r.t.Fatalf("the lease cannot be acquired any more: %v", err)
	}
	if err := h.Release(r.t.Context()); err != nil {
		r.t.Error(err)
	}
	return h.Token()
}

// stop ends all processes that still run.
func (r *race) stop() {
	for _, p := range r.runners {
		if p != nil {
			p.killed, p.busy = true, true
			_ = p.cmd.Process.Kill()
		}
	}
	for r.busy() > 0 {
		r.heard(<-r.lines)
	}
}
