package controller_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pharos-dev/pharos/lifecycle/controller"
	"github.com/pharos-dev/pharos/lifecycle/takeover/divert"
	"github.com/pharos-dev/pharos/lifecycle/takeover/restore"
)

// sessions is a SessionWatcher that tells what a test wants it to tell.
type sessions struct {
	passes chan func(observed func(restore.Report, error))
	told   chan struct{}
}

func (s *sessions) Watch(ctx context.Context, c restore.WatchConfig) error {
	for {
		select {
		case p := <-s.passes:
			p(c.Observed)
			s.told <- struct{}{}
		case <-ctx.Done():
			return nil
		}
	}
}

// pass tells of one, and returns when it was heard.
func (s *sessions) pass(t *testing.T, r restore.Report, err error) {
	t.Helper()
	select {
	case s.passes <- func(observed func(restore.Report, error)) { observed(r, err) }:
		<-s.told
	case <-t.Context().Done():
		t.Fatal("nobody watches")
	}
}

func workload(name string, outcome divert.Outcome, reason string, kept ...string) restore.Workload {
	w := restore.Workload{Subject: divert.Subject{Namespace: "shop", Name: name}, Restoration: divert.Restoration{Outcome: outcome, Reason: reason}}
	for _, k := range kept {
		w.Kept = append(w.Kept, divert.Kept{Field: k})
	}
	return w
}

// What becomes of a takeover is told, and what lasts is told once in Events.
func TestTakeoverTellsWhatIsNew(t *testing.T) {
	t.Parallel()
	s, l, e := &sessions{passes: make(chan func(func(restore.Report, error))), told: make(chan struct{})}, &log{}, &events{}
	c := watchedBy(t, controller.Config{Log: l.logger(), Events: e, Takeovers: []controller.Takeover{{Namespace: "pharos", Target: "devbox", Sessions: s}}})
	told := func(r restore.Report, err error, want ...string) {
		t.Helper()
		s.pass(t, r, err)
		if got := l.of("devbox"); !slices.Equal(got, want) {
			t.Errorf("it says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	recorded := func(want ...string) {
		t.Helper()
		var got []string
		for _, event := range e.list {
			got = append(got, event.Reason+" "+event.Note)
			if event.Namespace != "pharos" || event.Target != "devbox" || event.Warning != (event.Reason == "TakeoverNotEnded") {
				t.Errorf("the event %+v", event)
			}
		}
		if e.list = nil; !slices.Equal(got, want) {
			t.Errorf("recorded %q, want %q", got, want)
		}
	}
	measured := func(want ...string) {
		t.Helper()
		_, m := c.get("/metrics")
		for _, line := range want {
			if !strings.Contains(m, line+"\n") {
				t.Errorf("the metrics lack %s: %s", line, m)
			}
		}
	}
	const of = `{namespace="pharos",target="devbox"}`

	told(restore.Report{}, nil)
	told(restore.Report{Session: "S1", User: "ann@desk", Left: "ann@desk has it", Diverted: 2}, nil)
	measured("pharos_takeover_workloads"+of+" 2", "pharos_takeover_over"+of+" 0")

	over := restore.Report{Session: "S1", User: "ann@desk", Reason: "its lease is over", Diverted: 1,
		Workloads: []restore.Workload{workload("api", divert.OutcomeRestored, ""), {Subject: divert.Subject{Namespace: "shop", Name: "web"}, Err: errors.New("no answer")}}}
	const restored = `level=INFO msg="put a workload back that was taken over" session=S1 user=ann@desk reason="its lease is over" workload="Deployment shop/api"`
	const failed = `level=WARN msg="the sessions of takeovers could not be looked after" session=S1 user=ann@desk reason="its lease is over" err="no answer"`
	told(over, errors.New("no answer"), restored, failed)
	recorded("TakeoverNotEnded the takeover of ann@desk is over (its lease is over), and could not be ended: no answer")
	measured("pharos_takeover_workloads"+of+" 1", "pharos_takeover_over"+of+" 1", "pharos_takeover_watch_failures_total"+of+" 1")
	over.Workloads = over.Workloads[1:]
	told(over, errors.New("no answer"))
	recorded()
	measured("pharos_takeover_watch_failures_total" + of + " 2")
	told(over, errors.New("forbidden"), strings.Replace(failed, `err="no answer"`, "err=forbidden", 1))
	recorded()

	over.Done, over.Diverted = true, 0
	over.Workloads = []restore.Workload{workload("api", divert.OutcomeWhole, "nothing of the agent is there"), workload("web", divert.OutcomeRestored, "", "/command", "/args")}
	told(over, nil,
		`level=INFO msg="the sessions of takeovers are looked after again"`,
		`level=INFO msg="a workload that was taken over is not touched" session=S1 user=ann@desk reason="its lease is over" workload="Deployment shop/api" why="nothing of the agent is there"`,
		`level=WARN msg="put a workload back, but what somebody has changed" session=S1 user=ann@desk reason="its lease is over" workload="Deployment shop/web" kept="/command, /args"`,
		`level=INFO msg="ended a takeover" session=S1 user=ann@desk reason="its lease is over"`)
	recorded("TakeoverEnded ended the takeover of ann@desk: its lease is over: Deployment shop/api whole; Deployment shop/web restored, but /command, /args")
	measured("pharos_takeover_workloads"+of+" 0", "pharos_takeover_over"+of+" 0",
		`pharos_takeover_restored_total{namespace="pharos",outcome="restored",target="devbox"} 2`, `pharos_takeover_restored_total{namespace="pharos",outcome="whole",target="devbox"} 1`)

	left := restore.Report{Session: "S2", User: "bob@lab", Reason: "its lease is over", Left: "others do it", Diverted: 1}
	told(left, nil, `level=INFO msg="a takeover is over" session=S2 user=bob@lab reason="its lease is over" left="others do it"`)
	told(left, nil)
	recorded()

	// Of whom a takeover is that cannot be read is not known.
	damaged := restore.Report{Reason: "what is written down of it cannot be read"}
	const unread = `level=WARN msg="the sessions of takeovers could not be looked after" session="" user="" reason="what is written down of it cannot be read" err=damaged`
	told(damaged, errors.New("damaged"), unread)
	told(damaged, errors.New("damaged"))
	recorded("TakeoverNotEnded the takeover of somebody is over (what is written down of it cannot be read), and could not be ended: damaged")
	measured("pharos_takeover_over" + of + " 1")
}

func TestTakeoversAreChecked(t *testing.T) {
	t.Parallel()
	s := &sessions{}
	good := controller.Takeover{Namespace: "pharos", Target: "devbox", Sessions: s}
	for want, list := range map[string][]controller.Takeover{
		"lack one of both names":            {{Target: "devbox", Sessions: s}},
		"there are two for the takeovers":   {good, good},
		"want more than 0":                  {{Namespace: "pharos", Target: "devbox", Sessions: s, Every: -1}},
		"are the leader's, and without Lea": {good},
	} {
		if _, err := controller.New(controller.Config{Takeovers: list}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
