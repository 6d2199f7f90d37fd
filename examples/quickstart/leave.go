package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pharos-dev/pharos/catalogue/source"
	"github.com/pharos-dev/pharos/lifecycle/takeover"
	"github.com/pharos-dev/pharos/lifecycle/takeover/guardian"
	"github.com/pharos-dev/pharos/lifecycle/takeover/journal"
	"github.com/pharos-dev/pharos/lifecycle/takeover/workstation"
)

// toHandBack is how long the hand-back at the end may take.
const toHandBack = 2 * time.Minute

// handBackLeft hands back what was taken over from the shop's checkout with the plugin,
// and returns once nothing of it runs on this machine. Neither would end for long once
// its cluster and its checkout are gone.
func (s *story) handBackLeft(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), toHandBack, fmt.Errorf("it has not ended within %s", toHandBack))
	defer cancel()
	defer func() {
		if err != nil {
			err = fmt.Errorf("hand back the takeover of %s: %w", s.shop.Dir(), err)
		}
	}()
	repo, err := source.Open(s.shop.Dir())
	if err != nil {
		return err
	}
	folder := workstation.Folder(repo)
	client, err := guardian.Connect(ctx, folder)
	switch {
	case errors.Is(err, guardian.ErrNotRunning):
		return s.finishLeft(ctx, repo, folder)
	case err != nil:
		return err
	}
	s.say.line("the takeover of this checkout is handed back first")
	requests := make(chan guardian.Request, 1)
	requests <- guardian.Request{Op: guardian.OpHandBack}
	failed := ""
	err = client.Attach(ctx, requests, func(l guardian.Line) error { // to its end
		if l.Event != nil && l.Event.Type == takeover.EventFinished {
			failed = l.Event.Error
		}
		return nil
	})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil && failed != "":
		return errors.New(failed)
	}
	return err
}

// finishLeft hands a takeover back whose process was killed.
func (s *story) finishLeft(ctx context.Context, repo *source.Repository, folder string) error {
	if _, err := takeover.Left(folder); errors.Is(err, journal.ErrNone) {
		return nil
	}
	d, err := s.open(ctx)
	if err != nil {
		return err
	}
	config, err := workstation.Takeover(workstation.TakeoverConfig{Target: d.target, Options: d.options, Repository: repo})
	if err != nil {
		return err
	}
	session, err := takeover.New(config)
	if err != nil {
		return err
	}
	return session.Finish(ctx)
}
