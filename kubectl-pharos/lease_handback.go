package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/pharos-dev/pharos/lifecycle"
)

// handBack hands a target back that was borrowed, and says what happens.
type handBack struct {
	*shared
	lifecycle *lifecycle.Lifecycle
	holder    string
	timeout   time.Duration
	noWait    bool
}

func (h handBack) run(ctx context.Context) (lifecycle.HandBackResult, error) {
	res, err := h.do(ctx, h.lifecycle.HandBack)
	if res.Released {
		err = errors.Join(err, h.forgetHolder(h.lifecycle.Target, h.holder))
	}
	return res, err
}

func (h handBack) do(ctx context.Context, what func(context.Context, lifecycle.HandBackRequest) (lifecycle.HandBackResult, error)) (lifecycle.HandBackResult, error) {
	p := &progress{w: h.ErrOut}
	res, err := what(ctx, lifecycle.HandBackRequest{Holder: h.holder, Timeout: h.timeout, NoWait: h.noWait, Events: p.event})
	if h.noWait {
		for _, pending := range res.Report.Pending {
			linef(h.ErrOut, "not waited for: %s: %s", pending.Name, pending.Reason)
		}
	}
	return res, err
}

// returned says that a target was handed back, and what it is.
func returned(res lifecycle.HandBackResult) string {
	switch live := res.Status.Applied; {
	case live == nil:
		return "handed back"
	case len(res.Lease.Covers) > 0:
		return "handed back; " + strings.Join(res.Lease.Covers, ", ") + " as receipt " + live.ID.Short() + " says, at commit " + shortID(live.Record.Commit)
	default:
		return "handed back, and as receipt " + live.ID.Short() + " says, at commit " + shortID(live.Record.Commit)
	}
}
