package lease_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pharos-dev/pharos/lease"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	good := lease.Config{REST: &rest.Config{Host: "https://localhost"}, Namespace: "pharos", Target: "devbox"}
	short := good
	short.Borrow = lease.Timing{Duration: time.Minute, RenewEvery: 20 * time.Second}
	for _, c := range []lease.Config{good, short} {
		if _, err := lease.New(c); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		change func(*lease.Config)
		want   []string
	}{
		"zero":             {func(c *lease.Config) { *c = lease.Config{} }, []string{"REST is required", "Namespace", "Target"}},
		"target":           {func(c *lease.Config) { c.Target = "dev.box" }, []string{`Target "dev.box"`}},
		"host":             {func(c *lease.Config) { c.REST = &rest.Config{Host: "http://[::1"} }, []string{"REST"}},
		"margin":           {func(c *lease.Config) { c.Margin = time.Second - 1 }, []string{"Margin"}},
		"grace":            {func(c *lease.Config) { c.Grace = time.Millisecond }, []string{"Grace"}},
		"negative":         {func(c *lease.Config) { c.RetryPeriod, c.RequestTimeout = -1, -1 }, []string{"RetryPeriod", "RequestTimeout"}},
		"part of a second": {func(c *lease.Config) { c.Deliver.Duration = 30*time.Second + 1; c.Deliver.RenewEvery = time.Second }, []string{"whole seconds"}},
		"never renewed":    {func(c *lease.Config) { c.Borrow = lease.Timing{Duration: time.Hour} }, []string{"Borrow.RenewEvery"}},
		"renewed late": {func(c *lease.Config) {
			c.Deliver = lease.Timing{Duration: 30 * time.Second, RenewEvery: 17 * time.Second}
		},
			[]string{"Deliver.Duration is 30s, want at least 31s"}},
		"short max": {func(c *lease.Config) {
			c.Borrow.Duration, c.Borrow.RenewEvery, c.Borrow.Max = time.Hour, time.Minute, time.Minute
		}, []string{"Borrow.Max"}},
		"too long": {func(c *lease.Config) { c.Borrow.Duration, c.Borrow.RenewEvery = 100*365*24*time.Hour, time.Minute }, []string{"Borrow is longer"}},
		"gate": {func(c *lease.Config) {
			c.Gate, c.Borrow = &process{}, lease.Timing{Duration: time.Minute, RenewEvery: 20 * time.Second}
		}, []string{"Borrow.Duration is 1m0s, want at least 1m4s", "GateTimeout"}},
		"gate timeout": {func(c *lease.Config) { c.GateTimeout = -1 }, []string{"GateTimeout"}},
		"together":     {func(c *lease.Config) { c.Margin, c.Grace, c.Target = 1, 1, "" }, []string{"Margin", "Grace", "Target"}},
	} {
		c := good
		tc.change(&c)
		m, err := lease.New(c)
		if !errors.Is(err, lease.ErrInvalid) || m != nil {
			t.Errorf("%s: %v, %v, want ErrInvalid", name, m, err)
			continue
		}
		for _, want := range tc.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v\nwant it to say %q", name, err, want)
			}
		}
	}
}

func TestRequestRefuses(t *testing.T) {
	t.Parallel()
	// Nothing listens there: a request that is refused makes no call.
	m := manager(t, lease.Config{REST: &rest.Config{Host: "https://127.0.0.1:1"}, Namespace: "pharos", Target: "devbox"})
	for name, tc := range map[string]struct {
		request lease.Request
		want    []string
	}{
		"zero":     {lease.Request{}, []string{"Mode"}},
		"mode":     {lease.Request{Mode: "steal"}, []string{`Mode "steal"`}},
		"lines":    {lease.Request{Mode: lease.ModeDeliver, User: "a\nb", Purpose: "a\x1b[2J"}, []string{"User", "Purpose"}},
		"long":     {lease.Request{Mode: lease.ModeDeliver, Purpose: strings.Repeat("a", 257)}, []string{"Purpose"}},
		"encoding": {lease.Request{Mode: lease.ModeDeliver, User: "\xff"}, []string{"User"}},
		"covers":   {lease.Request{Mode: lease.ModeBorrow, Covers: []string{"web", ""}}, []string{"Covers"}},
		"much":     {lease.Request{Mode: lease.ModeBorrow, Covers: []string{strings.Repeat("a", 70_000)}}, []string{"Covers"}},
		"for":      {lease.Request{Mode: lease.ModeBorrow, For: 12*time.Hour + time.Second}, []string{"For is 12h0m1s, want at most 12h0m0s"}},
		"seconds":  {lease.Request{Mode: lease.ModeBorrow, For: time.Hour + 1}, []string{"whole seconds"}},
		"short":    {lease.Request{Mode: lease.ModeDeliver, For: 4 * time.Second}, []string{"want at least 5s"}},
		"negative": {lease.Request{Mode: lease.ModeDeliver, For: -time.Second, Wait: -1}, []string{"For", "Wait"}},
	} {
		h, err := m.Acquire(t.Context(), tc.request)
		if !errors.Is(err, lease.ErrInvalid) || h != nil {
			t.Errorf("%s: %v, %v, want ErrInvalid", name, h, err)
			continue
		}
		for _, want := range tc.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v\nwant it to say %q", name, err, want)
			}
		}
	}
	if h, err := m.Resume(t.Context(), ""); !errors.Is(err, lease.ErrInvalid) || h != nil {
		t.Errorf("Resume of nobody: %v, %v", h, err)
	}
}

func TestHeldErrorSays(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for _, tc := range []struct {
		state lease.State
		want  string
	}{
		{lease.State{Mode: lease.ModeBorrow, User: "ann@laptop", Purpose: "debug", Expires: now.Add(90 * time.Second)},
			`the lease of target "devbox" is held by ann@laptop in mode borrow until 2026-03-04T05:07:37Z (1m30s left): debug`},
		{lease.State{Mode: lease.ModeMaintain, Holder: "XYZ"}, `the lease of target "devbox" is held by XYZ in mode maintain until it is released`},
		{lease.State{Holder: "controller"}, `the lease of target "devbox" is held by controller until it is released`},
		{lease.State{Mode: lease.ModeDeliver, User: "ann@laptop", Expires: now},
			`the lease of target "devbox" is held by ann@laptop in mode deliver and ran out at 2026-03-04T05:06:07Z: it can be acquired in a few seconds`},
	} {
		err := &lease.HeldError{Target: "devbox", State: tc.state, Now: now}
		if err.Error() != tc.want || !errors.Is(err, lease.ErrHeld) {
			t.Errorf("got  %v\nwant %s", err, tc.want)
		}
	}
}
